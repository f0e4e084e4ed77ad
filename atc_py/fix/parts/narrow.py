"""Integers in another dtype: what has to be known of their values, and the casts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.ranges import INT32, Range
from atc_py.fix.unfit import UnfitError
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.fix.site import Site
    from atc_py.source import SourceTensor

__all__ = ["EXACT_FLOAT", "INTEGERS", "WIDE", "require_range", "require_result"]

EXACT_FLOAT = Range(-(2**24), 2**24)
"""Integers that float32 holds exactly, with all between."""

WIDE = frozenset({DType.INT64, DType.UINT32, DType.UINT64})
"""Integers that have values beyond int32."""

INTEGERS = WIDE | {
    DType.INT8, DType.INT16, DType.INT32, DType.UINT8, DType.UINT16,
}  # fmt: skip

_NAMES = {INT32: ("int32", "int32"), EXACT_FLOAT: ("2^24", "2^24")}


def require_range(site: Site, position: int, target: Range) -> None:
    """Require that the values of an input are within `target`.

    Raises:
        UnfitError: they may be beyond; the reason names what leaves them open.
    """
    found = site.range(position)
    if found is None or not found.within(target):
        raise UnfitError(_reason(site, site.input(position), target))


def require_result(site: Site, target: Range, position: int = 0) -> None:
    """Require that a result is within `target`, and in its own dtype before it is stored.

    Raises:
        UnfitError: it may be beyond, or wrap around.
    """
    result = site.output(position)
    if result is None or result.dtype not in INTEGERS:
        return
    found = site.result_range(position)
    if found is None or not found.within(target) or site.may_wrap(position):
        raise UnfitError(_reason(site, result, target))


def _reason(site: Site, tensor: SourceTensor, target: Range) -> Words:
    """Return why values are not known to be within `target`."""
    en, zh = _NAMES.get(target, (f"{target.high}", f"{target.high}"))
    inputs, others = site.unbounded(tensor, target)
    what = f"the values of {tensor.name} are shown to be within {en}"
    what_zh = f"可证明 {tensor.name} 的数值在 {zh} 以内"
    if inputs:
        options = " ".join(f"--range {name}=LOW:HIGH" for name in inputs)
        return Words(f"{what}; give {options}", f"{what_zh}；请给出 {options}")
    if others:
        names = ", ".join(others)
        return Words(f"{what}; nothing bounds {names}", f"{what_zh}；{names} 没有已知范围")
    return Words(f"{what}; its bounds are wider", f"{what_zh}；其已知范围更大")
