"""Tensor formats: what the axes of a shape mean, and how hardware stores them."""

from enum import Enum


class Format(Enum):
    """A tensor's format; the value is its name in CANN and in the text form."""

    ND = "ND"
    NCHW = "NCHW"
    NHWC = "NHWC"
    NCDHW = "NCDHW"
    NC1HWC0 = "NC1HWC0"
    FRACTAL_Z = "FRACTAL_Z"
    FRACTAL_NZ = "FRACTAL_NZ"
    C1HWNCOC0 = "C1HWNCoC0"
    FRACTAL_Z_C04 = "FRACTAL_Z_C04"
    NDC1HWC0 = "NDC1HWC0"
    FRACTAL_Z_3D = "FRACTAL_Z_3D"

    __hash__ = object.__hash__
    """Members are single objects; Enum's own hash is a call of Python for each look-up."""
