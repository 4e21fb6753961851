"""A task on its way to a kernel, through all stages.

choosing   which candidate is judged next
pipeline   from a reference file to a verified, measured kernel
jobs       what commands ask for: run, verify, profile
results    what a run found
"""
