"""A kernel in the process that it is judged in.

session             the process: the kernel loaded before any input is there, then run on all cases
jobs                its side in the worker: the plugin's hooks are called
harness             runs cases and takes times of a Python module with `ModelNew`
subject             the kernel's model, constructed and put into the state of a case
confinement         what the process gives away before the kernel's code runs
guard, guarded      while a kernel runs: no library computes for it; one case under the guard
importers           who imports what as a kernel runs
library, operators  what of the library computes and is taken away; the operators that a kernel may call
integrity           whether the harness has been replaced, or a thread left
holdings            parameters and buffers of a foreign module
profiled            operators of all threads, by PyTorch's profiler
copies, unwatched   copies made by the library; what only a profiler has seen
finished            whether an answer is all there when a kernel returns
rounding, settings  the floating-point mode, and what else of its process a kernel must leave as it was
health, failures    whether a device still works; what an exception says
timed_model         a model that is timed: its inputs, rotated
turns, queued       calls that are timed from outside: on the host; on another device
"""
