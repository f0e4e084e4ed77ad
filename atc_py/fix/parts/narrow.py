"""Integers in another dtype: what has to be known of their values, and the casts."""

from atc_py.fix.range_rules import INT32, Range
from atc_py.fix.site import Site
from atc_py.fix.unfit import UnfitError
from atc_py.onnx_graph.source import SourceTensor
from atc_py.tensor.dtypes import DType

EXACT_FLOAT = Range(-(2**24), 2**24)
"""Integers that float32 holds exactly, with all between."""

WIDE = frozenset({DType.INT64, DType.UINT32, DType.UINT64})
"""Integers that have values beyond int32."""

INTEGERS = WIDE | {
    DType.INT8, DType.INT16, DType.INT32, DType.UINT8, DType.UINT16,
}  # fmt: skip

_NAMES = {INT32: "int32", EXACT_FLOAT: "2^24"}


def require_range(site: Site, position: int, target: Range) -> None:
    """Require that the values of an input are within `target`."""
    bounds = site.range(position)
    if bounds is None or not bounds.within(target):
        raise _beyond(site, site.input(position), target)


def require_result(site: Site, target: Range, position: int = 0) -> None:
    """Require that a result is within `target`, and in its own dtype before it is stored."""
    result = site.output(position)
    if result is None or result.dtype not in INTEGERS:
        return
    bounds = site.result_range(position)
    if bounds is None or not bounds.within(target) or site.may_wrap(position):
        raise _beyond(site, result, target)


def _beyond(site: Site, tensor: SourceTensor, target: Range) -> UnfitError:
    # The words name what leaves the values open: inputs whose bounds can be given, or other nodes.
    inputs, others = site.unbounded(tensor, target)
    values = {"tensor": tensor.name, "within": _NAMES.get(target, str(target.high))}
    if inputs:
        values["options"] = " ".join(f"--range {name}=LOW:HIGH" for name in inputs)
        return UnfitError(
            "the values of {tensor} are shown to be within {within}; give {options}", **values
        )
    if others:
        values["names"] = ", ".join(others)
        return UnfitError(
            "the values of {tensor} are shown to be within {within}; nothing bounds {names}",
            **values,
        )
    return UnfitError(
        "the values of {tensor} are shown to be within {within}; its bounds are wider", **values
    )
