"""How fast a kernel is.

measure                samples of a kernel and of the baselines, in turns
participant, entrants  who is timed, each in a process of its own, warming up early
rounds                 turns until medians and ratios are known closely
inside, outside        by the clock of the process; by a clock outside of it
baseline               eager PyTorch and `torch.compile`
floor                  the physical floor: what this machine's memory and units can do
statistics             medians and their intervals
"""
