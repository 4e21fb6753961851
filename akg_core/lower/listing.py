"""The tile IR of a whole sketch, to be read."""

from __future__ import annotations

from akg_core.lower.build import KEPT, body_of
from akg_core.lower.explicit import make_explicit
from akg_core.lower.show import show_ir
from akg_core.lower.specialise import instances
from akg_core.lower.verify import verify
from akg_core.records import Schedule
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import bind


def listing(text: str, name: str, schedule: Schedule) -> str:
    """The kernels of a sketch as plugins begin to lower them, each way in which the program launches one.

    Raises SketchError for a sketch that is wrong, and for a schedule that it does not take.
    """
    tree = bind(require(parse(text, name), name), schedule)
    found = []
    for instance in dict.fromkeys(instance for _, instance in instances(tree)):
        body = body_of(instance, cheap=KEPT)
        make_explicit(body)
        verify(body)
        found.append(show_ir(body, instance.symbol))
    return "\n".join(found)
