"""Numbers of formats in ATC's graphs, and names of element types in its files."""

from collections.abc import Mapping

from atc_py.package.ge.interface import FORMAT_NUMBERS
from atc_py.tensor.dtypes import DType

_OTHER_WORDS = {DType.BFLOAT16: "BF16", DType.FLOAT32: "FLOAT", DType.FLOAT64: "DOUBLE"}

GE_DTYPE_NAMES: Mapping[DType, str] = {
    each: f"DT_{_OTHER_WORDS.get(each, each.name)}" for each in DType
}
"""Names of dtypes in files of ATC."""


def format_number(name: str) -> int | None:
    """The number of a format, None where it is not known."""
    return FORMAT_NUMBERS.get(name)
