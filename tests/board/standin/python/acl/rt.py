"""Devices, contexts and memory."""

import ctypes
from typing import Any

from ._state import BAD_PARAM, STATE, new_handle

_HOST, _DEVICE = "host", "device"
_KINDS = {0: (_HOST, _HOST), 1: (_DEVICE, _HOST), 2: (_HOST, _DEVICE), 3: (_DEVICE, _DEVICE)}


def set_device(device: Any) -> Any:
    return 0 if device == 0 else 107001


def reset_device(device: Any) -> Any:
    return 0


def create_context(device: Any) -> Any:
    return new_handle("context"), 0


def destroy_context(context: Any) -> Any:
    return 0 if STATE.handles.pop(context, None) else BAD_PARAM


def get_run_mode() -> Any:
    return 1, 0


def get_device_count() -> Any:
    return 1, 0


def _taken(size: Any, side: Any) -> Any:
    buffer = ctypes.create_string_buffer(size)
    STATE.memory[ctypes.addressof(buffer)] = (buffer, size, side)
    return ctypes.addressof(buffer), 0


def malloc(size: Any, policy: Any) -> Any:
    return _taken(size, _DEVICE) if size > 0 else (0, BAD_PARAM)


def malloc_host(size: Any) -> Any:
    return _taken(size, _HOST) if size > 0 else (0, BAD_PARAM)


def free(pointer: Any) -> Any:
    found = STATE.memory.get(pointer)
    if found is None or found[2] != _DEVICE:
        return BAD_PARAM
    del STATE.memory[pointer]
    return 0


def free_host(pointer: Any) -> Any:
    found = STATE.memory.get(pointer)
    if found is None or found[2] != _HOST:
        return BAD_PARAM
    del STATE.memory[pointer]
    return 0


def memcpy(target: Any, room: Any, source: Any, count: Any, kind: Any) -> Any:
    """Copy; plain memory of Python, which the table does not have, is the host's."""
    sides = [STATE.memory.get(each, (None, count, _HOST)) for each in (target, source)]
    if count > room or count > sides[0][1] or (sides[0][2], sides[1][2]) != _KINDS[kind]:
        STATE.error = "EE1001: invalid memory copy"
        return BAD_PARAM
    ctypes.memmove(target, source, count)
    return 0
