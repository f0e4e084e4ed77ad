"""Numbers of formats in ATC's graphs, and names of element types in its files."""

from collections.abc import Mapping

from atc_py.tensor.dtypes import DType

FORMAT_NUMBERS: Mapping[str, int] = {
    "NCHW": 0,
    "NHWC": 1,
    "ND": 2,
    "NC1HWC0": 3,
    "FRACTAL_Z": 4,
    "C1HWNCoC0": 16,
    "NDHWC": 27,
    "FRACTAL_NZ": 29,
    "NCDHW": 30,
    "NDC1HWC0": 32,
    "FRACTAL_Z_3D": 33,
    "RESERVED": 40,
}
"""Formats by name: those of single operators are proven, those with three axes of space inferred."""

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
