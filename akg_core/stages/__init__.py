"""The stages between a task and a built kernel, one at a time.

stages          seen from the orchestrator: what a user asks for goes in, records come out
stage_jobs      the worker's side of them, and the records that these give
schedule_jobs   the worker's side of questions about schedules
variants        designs, each made when it is asked for
building        a candidate as a kernel, with smaller tiles where it takes these
progress        stages as they happen
pools, warm     which jobs run in which Python; what the parents of workers import before any job comes
"""
