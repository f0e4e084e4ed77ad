"""AIPP: pictures into tensors by a configuration file, as data; the arithmetic is the device's."""

from atc_py.options.aipp.config import AippConfig
from atc_py.options.aipp.doubts import config_doubts, file_doubts
from atc_py.options.aipp.dynamic import (
    assigned_configs,
    checked_pictures,
    dims_gears_refusal,
    fp16_input_refusal,
    read_run_settings,
)
from atc_py.options.aipp.file import AippFile, read_aipp_file
from atc_py.options.aipp.geometry import NetworkInput, checked
from atc_py.options.aipp.image_formats import IMAGE_FORMATS, ImageFormat, image_format
from atc_py.options.aipp.parameters import parameter_bytes, settings_of_bytes
from atc_py.options.aipp.settings import AippSettings, AippWindow, source_bytes, source_shape

__all__ = [
    "IMAGE_FORMATS",
    "AippConfig",
    "AippFile",
    "AippSettings",
    "AippWindow",
    "ImageFormat",
    "NetworkInput",
    "assigned_configs",
    "checked",
    "checked_pictures",
    "config_doubts",
    "dims_gears_refusal",
    "file_doubts",
    "fp16_input_refusal",
    "image_format",
    "parameter_bytes",
    "read_aipp_file",
    "read_run_settings",
    "settings_of_bytes",
    "source_bytes",
    "source_shape",
]
