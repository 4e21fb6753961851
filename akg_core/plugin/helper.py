"""What a module that `PluginInfo.warm` names may start, for jobs that build: a process that answers their requests.

It makes something once, such as headers that are precompiled, without being able to touch a device or to write a file,
and forks a process for every request. Processes that run kernels cannot reach it.
"""

from akg_core.worker.helper import Answer, Bounds, Helper, HelperFailed

__all__ = ["Answer", "Bounds", "Helper", "HelperFailed"]
