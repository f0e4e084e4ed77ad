"""The fix pipe: what it does to results of the cube while it stores them, and in which order.

Its units come in the order of CANN's operator FixPipe: a conversion, a function, a sum, a function
[proven by the operand slots of a real file for Ascend310B4 of CANN 8.0]. Which units there are
follows from CANN's platform configuration; what they take, from its pass FIXPIPEFUSIONPASS as
published in 2026: activations other than Relu float16, sums float16 of equal dims and format.
"""

from collections.abc import Iterable

from atc_py.target.soc import Soc
from atc_py.tensor.dtypes import DType

SUMS = frozenset({"Add"})
"""Functions of the unit between the two others; that of differences is in no file seen."""

SLOPED = "PRelu"
"""The function with a slope for each channel, which is float32 in the pipe whatever the data are."""

_BEFORE, _SUM, _AFTER, _END = range(4)


def fix_pipe_length(functions: Iterable[tuple[str, DType]], soc: Soc) -> int:
    """The number of functions at the front that the fix pipe of `soc` does, one after another.

    Args:
        functions: operators after the cube and the dtypes of their results.
        soc: whose pipe it is; 0 where it has none.
    """
    unit, count = _BEFORE, 0
    for op, dtype in functions:
        if op in SUMS:
            fits = soc.fix_pipe_sums and unit <= _SUM and dtype is DType.FLOAT16
            unit = _AFTER
        else:
            narrow = op == "Relu" or dtype is DType.FLOAT16
            fits = op in soc.fix_pipe_functions and unit in {_BEFORE, _AFTER} and narrow
            unit = _SUM if unit == _BEFORE else _END
        if not fits:
            break
        count += 1
    return count
