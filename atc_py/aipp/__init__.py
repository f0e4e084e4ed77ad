"""AIPP: pictures into tensors by a configuration file, as data; the arithmetic is the device's."""

from atc_py.aipp.image_formats import IMAGE_FORMATS, ImageFormat, image_format
from atc_py.aipp.settings import AippSettings, AippWindow, source_bytes, source_shape

__all__ = [
    "IMAGE_FORMATS",
    "AippSettings",
    "AippWindow",
    "ImageFormat",
    "image_format",
    "source_bytes",
    "source_shape",
]
