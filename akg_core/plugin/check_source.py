"""What every `akg_check_source` begins with: what a kernel's Python files must have and must not do.

`python_findings(source, prefix)` names it, with codes that begin with the plugin's prefix; `kernel_findings` names also
that there is no kernel, which `is_decorated` tells. `python_trees` are the files for a plugin that reads them too;
`only_views` says that there is nothing for a kernel to compute.
"""

from akg_core.judge.source.text import is_decorated, kernel_findings, only_views, python_findings, python_trees

__all__ = ["is_decorated", "kernel_findings", "only_views", "python_findings", "python_trees"]
