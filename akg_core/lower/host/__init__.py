"""model_new.py, the Python side of a kernel, which no plugin writes by itself.

module     its text: forward, allocations, launches
call       one launch, as plugins are told of it
views      views of tensors, and those that a loop takes turn by turn
turns      loops whose launches one call makes
lifetimes  how long a program needs the tensors that it allocates
checks     what forward checks of its tensors
arguments  the signature of forward, and what it asks of arguments that are no tensors
names      what forward calls the names of a program
packing    how results are handed back
runtime    the fixed part of every module
"""
