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

_OTHER_WORDS = {DType.BFLOAT16: "BF16", DType.FLOAT32: "FLOAT", DType.FLOAT64: "DOUBLE"}

GE_DTYPE_NAMES: Mapping[DType, str] = {
    each: f"DT_{_OTHER_WORDS.get(each, each.name)}" for each in DType
}
"""Names of dtypes in files of ATC."""


def format_number(name: str) -> int | None:
    """The number of a format, None where it is not known."""
    return FORMAT_NUMBERS.get(name)
