"""The reference file as text and as a module.

load              makes its module and inputs
syntax            whether it is Python at all
uncompiled        the text without `torch.compile`
default_device    what forward makes without saying where, on a device
packed_lengths    lengths of packed sequences, on a device
attributes        tensors that plain attributes of the module hold
gradients         forwards that take gradients themselves
beside            what lies beside it is found, wherever its text is run
branches, loops   its `if` and `for` rewritten, so that tensors may say what they do
steps             loops as often as values say, of which one turn is traced
rewritten         all of these, of what was not rewritten before
"""
