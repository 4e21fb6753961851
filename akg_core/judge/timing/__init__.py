"""How fast a kernel is.

measure                samples of a kernel and of the baselines, in turns
participant, entrants  who is timed, each in a process of its own, warming up early
rounds                 turns until medians and ratios are known closely
outside, on_device     by clocks outside of these processes: on the host; on another device
device_clock, idle     the clock of a device; what a turn takes beside the calls in it
baseline               eager PyTorch and `torch.compile`
queued_copies          a baseline's copies from the host, for which nobody waits
floor                  the physical floor: what this machine's memory and units can do
statistics             medians and their intervals
"""
