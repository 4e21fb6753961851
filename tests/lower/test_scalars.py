"""Float arguments are f32 where a chip has no f64, unless the module computes in f64."""

from __future__ import annotations

from akg_core.lower.scalars import float_dtype, with_floats
from akg_core.lower.specialise import Instance, instances
from akg_core.records import Argument, Interface, Schedule
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import bind

SCALED = """
@kernel
def f(x: In["{dtype}", 8], by: In["f64"], y: Out["{dtype}", 8]):
    for n in grid(8, 8):
        store(y[n], load(x[n]) * load(by[()]))
"""


def instance(dtype: str) -> Instance:
    (_, found), *_ = instances(bind(require(parse(SCALED.format(dtype=dtype), "sketch"), "sketch"), Schedule()))
    return found


def interface(dtype: str) -> Interface:
    return Interface(arguments=(Argument(name="x", kind="tensor", dtype=dtype, shape=(8,)),))


def test_the_dtype_of_float_arguments_is_one_that_the_chip_has() -> None:
    assert float_dtype(interface("f32"), {"f64"}) == "f32"
    assert float_dtype(interface("f32"), {"i64"}) == "f64"
    assert float_dtype(interface("f64"), {"f64"}) == "f64"


def test_a_kernel_takes_them_in_that_dtype() -> None:
    narrow = with_floats(instance("f32"), "f32")
    assert [t.dtype for t in narrow.kernel.tensors] == ["f32", "f32", "f32"]
    assert with_floats(instance("f32"), "f64") == instance("f32")
    assert with_floats(instance("f64"), "f32") == instance("f64")
