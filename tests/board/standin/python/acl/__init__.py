"""pyACL's functions and return conventions on a simulated device, for Python 3.7 and later.

The device is a process of its own, `device.py`, which STANDIN_PYTHON runs. Memory of the device and of
the host are buffers of this process that know which they are: a copy in the wrong direction fails.
"""

import json
import os
from typing import Any

from . import mdl as mdl
from . import rt as rt
from . import util as util
from ._state import BAD_PARAM, STATE, new_handle

_DUMP_KEYS = ("dump_path", "dump_list")


def init(config: Any = "") -> Any:
    if STATE.initialized:
        return 100002
    if config:
        with open(config, encoding="utf-8") as file:
            document = json.load(file)
        dump = document.get("dump")
        if dump is not None:
            if any(key not in dump for key in _DUMP_KEYS) or not os.path.isdir(dump["dump_path"]):
                return BAD_PARAM
            STATE.dump = dump
    STATE.initialized = True
    return 0


def finalize() -> Any:
    STATE.initialized = False
    for model in list(STATE.models):
        mdl.unload(model)
    return 0


def get_soc_name() -> Any:
    return os.environ.get("STANDIN_SOC", "Ascend310P3")


def get_version() -> Any:
    return 1, 2, 0, 0


def get_recent_err_msg() -> Any:
    return STATE.error


def create_data_buffer(pointer: Any, size: Any) -> Any:
    return new_handle((pointer, size))


def destroy_data_buffer(buffer: Any) -> Any:
    return 0 if STATE.handles.pop(buffer, None) else BAD_PARAM


def get_data_buffer_addr(buffer: Any) -> Any:
    return STATE.handles[buffer][0]


def get_data_buffer_size(buffer: Any) -> Any:
    return STATE.handles[buffer][1]
