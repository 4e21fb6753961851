"""The reference file as text and as a module.

load              makes its module and inputs
syntax            whether it is Python at all
beside            what lies beside it is found, wherever its text is run
branches, loops   its `if` and `for` rewritten, so that tensors may say what they do
rewritten         both, of what was not rewritten before
"""
