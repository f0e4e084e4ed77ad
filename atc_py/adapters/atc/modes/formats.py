"""Numbers of formats in ATC's graphs, and names of element types in its files."""

from collections.abc import Mapping

from atc_py.package.ge.interface import FORMAT_NUMBERS
from atc_py.tensor.dtypes import DType

GE_DTYPE_NAMES: Mapping[DType, str] = {
    DType.FLOAT16: "DT_FLOAT16",
    DType.BFLOAT16: "DT_BF16",
    DType.FLOAT32: "DT_FLOAT",
    DType.FLOAT64: "DT_DOUBLE",
    DType.INT4: "DT_INT4",
    DType.INT8: "DT_INT8",
    DType.INT16: "DT_INT16",
    DType.INT32: "DT_INT32",
    DType.INT64: "DT_INT64",
    DType.UINT8: "DT_UINT8",
    DType.UINT16: "DT_UINT16",
    DType.UINT32: "DT_UINT32",
    DType.UINT64: "DT_UINT64",
    DType.BOOL: "DT_BOOL",
}
"""Names of dtypes in files of ATC."""


def format_number(name: str) -> int | None:
    """The number of a format, None where it is not known."""
    return FORMAT_NUMBERS.get(name)
