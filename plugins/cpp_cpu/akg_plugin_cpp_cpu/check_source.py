"""What a kernel of this plugin must have and must not do, found by reading its source."""

from __future__ import annotations

import re
from collections.abc import Iterator

from akg_core.plugin import Finding, KernelSource
from akg_core.plugin.check_source import only_views, python_findings

_LIBRARIES = re.compile(r'#\s*include\s*[<"](torch|ATen|c10|mkl|cblas|openblas|dnnl|oneapi|Eigen)[/._>"]')
_KERNEL = re.compile(r'extern\s+"C"\s*(\{|[^;{]*\bvoid\s+\w+\s*\()')


def check_source(source: KernelSource) -> tuple[Finding, ...]:
    """What core finds in the Python files, then findings in the C++ files."""
    return (*python_findings(source, "CPP"), *_cpp(source))


def _cpp(source: KernelSource) -> Iterator[Finding]:
    texts = {name: text for name, text in source.files.items() if name.endswith((".cpp", ".hpp", ".h", ".cc"))}
    has_kernel = any(_KERNEL.search(text) for name, text in texts.items() if name.endswith(".cpp"))
    if not has_kernel and not only_views(source):
        yield Finding(
            code="CPP301",
            message='No .cpp file has a kernel: a function with extern "C".',
            suggestion='Write extern "C" void akg_NAME(void* const* tensors, const std::int64_t* sizes) in kernel.cpp.',
        )
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            if match := _LIBRARIES.search(line):
                yield Finding(
                    code="CPP302",
                    message=f"{name} includes {match[1]}, a library that does the kernel's work or is not linked.",
                    line=number,
                    suggestion="Use the headers akg/*.hpp.",
                )
