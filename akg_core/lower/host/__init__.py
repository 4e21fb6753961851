"""model_new.py, the Python side of a kernel, which no plugin writes by itself.

module     its text: forward, allocations, launches
checks     what forward checks of its tensors
arguments  the signature of forward
runtime    the fixed part of every module
"""
