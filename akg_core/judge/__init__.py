"""Judging: what a kernel is run on, whether its answers are right, how fast it is. Verdicts are made here alone.

verify      the verdict: a kernel run on every case in a confined process, its answers compared
records     what the judge says, as records
cure        what to do about a kernel that was judged to be cheating
source/     what is read of a kernel before it runs
reference/  the reference process: cases, what is due, new inputs
candidate/  the kernel's process: confinement, guard, harness
compare/    answers beside the reference's: accuracy, bits, diagnosis
timing/     clocks, baselines, rounds, the physical floor
"""
