"""Isolated processes: every piece of code that a user or a generator wrote runs here and nowhere else.

pool, session, spare         workers for the orchestrator; one seen from it; those that are asked for another task
helper                       a process beside a warm parent that forks one of its own for every request
zygote, child, wire, job     the warm parents; the inside of a worker; messages between the two; records in them
limits, usage, folders       what a job may use, and how it ended; what it does use; the folders of pools
isolation, cgroup            namespaces, mounts, resource limits and privileges; a control group for each job
seccomp, system_calls        which system calls are let through
faults                       how a process ends that runs protected memory
elf                          shared libraries, read as files
tensors, layout, answers     files of tensors; how they lie in these; what foreign code has answered
timekeeper, kept_answers     the clock of a worker that is outside of it; the answers that it keeps
vm                           memory of another process
threads, surroundings        with how many threads torch works; settings that all code in a process shares
placement                    the device on which a plugin's kernels run
"""
