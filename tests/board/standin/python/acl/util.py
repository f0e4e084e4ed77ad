"""The bridge to numpy: pointers of bytes from CANN 6 on, before that of arrays alone."""

import ctypes
import os
from typing import Any

if os.environ.get("STANDIN_CANN", "2024") != "2022":

    def bytes_to_ptr(data: Any) -> Any:
        return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value

    def ptr_to_bytes(pointer: Any, size: Any) -> Any:
        return ctypes.string_at(pointer, size)


def numpy_to_ptr(array: Any) -> Any:
    return array.ctypes.data
