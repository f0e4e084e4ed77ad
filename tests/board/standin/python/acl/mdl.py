"""Models and data sets."""

import ctypes
import json
import os
import shutil
import subprocess
import tempfile
from typing import Any

from ._state import BAD_PARAM, STATE, new_handle

_SERVER = "tests.board.standin.device"
_BAD_MODEL = 545002
_FAILED = 507011


class _Model:
    def __init__(self, path: Any, model_id: Any) -> None:
        variables = dict(os.environ)
        variables["PYTHONPATH"] = os.environ["STANDIN_ROOT"]
        self.folder = tempfile.mkdtemp(prefix="acl")
        self.gear = None
        self.process: Any = subprocess.Popen(
            [
                os.environ["STANDIN_PYTHON"],
                "-m",
                _SERVER,
                path,
                str(model_id),
                json.dumps(STATE.dump),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=variables,
            universal_newlines=True,
        )
        self.facts = self.answer()

    def answer(self) -> Any:
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the device is lost"}

    def ask(self, **request: Any) -> Any:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def load_from_file(path: Any) -> Any:
    model_id = len(STATE.models) + 1
    model = _Model(path, model_id)
    if "error" in model.facts:
        STATE.error = model.facts["error"]
        model.close()
        return 0, _BAD_MODEL
    STATE.models[model_id] = model
    return model_id, 0


def unload(model_id: Any) -> Any:
    model = STATE.models.pop(model_id, None)
    if model is None:
        return BAD_PARAM
    model.close()
    return 0


def create_desc() -> Any:
    return new_handle({})


def destroy_desc(desc: Any) -> Any:
    return 0 if STATE.handles.pop(desc, None) is not None else BAD_PARAM


def get_desc(desc: Any, model_id: Any) -> Any:
    if model_id not in STATE.models:
        return BAD_PARAM
    STATE.handles[desc] = STATE.models[model_id]
    return 0


def _port(desc: Any, side: Any, index: Any) -> Any:
    return STATE.handles[desc].facts[side][index]


def get_num_inputs(desc: Any) -> Any:
    return len(STATE.handles[desc].facts["inputs"])


def get_num_outputs(desc: Any) -> Any:
    return len(STATE.handles[desc].facts["outputs"])


def get_input_size_by_index(desc: Any, index: Any) -> Any:
    return _port(desc, "inputs", index)["size"]


def get_output_size_by_index(desc: Any, index: Any) -> Any:
    return _port(desc, "outputs", index)["size"]


def get_input_data_type(desc: Any, index: Any) -> Any:
    return _port(desc, "inputs", index)["dtype"]


def get_output_data_type(desc: Any, index: Any) -> Any:
    return _port(desc, "outputs", index)["dtype"]


def get_input_format(desc: Any, index: Any) -> Any:
    return _port(desc, "inputs", index)["format"]


def get_output_format(desc: Any, index: Any) -> Any:
    return _port(desc, "outputs", index)["format"]


def _dims(port: Any, dims: Any) -> Any:
    return {"name": port["name"], "dimCount": len(dims), "dims": list(dims)}, 0


def get_input_dims(desc: Any, index: Any) -> Any:
    port = _port(desc, "inputs", index)
    return _dims(port, port["dims"])


def get_output_dims(desc: Any, index: Any) -> Any:
    port = _port(desc, "outputs", index)
    return _dims(port, port["dims"])


def get_cur_output_dims(desc: Any, index: Any) -> Any:
    model = STATE.handles[desc]
    port = _port(desc, "outputs", index)
    return _dims(port, port["gears"][model.gear] if model.gear is not None else port["dims"])


def get_input_index_by_name(desc: Any, name: Any) -> Any:
    names = [port["name"] for port in STATE.handles[desc].facts["inputs"]]
    return (names.index(name), 0) if name in names else (0, BAD_PARAM)


def _choose(model_id: Any, numbers: Any) -> Any:
    model = STATE.models[model_id]
    if numbers not in model.facts["gears"]:
        STATE.error = "E10036: no such gear"
        return BAD_PARAM
    model.gear = model.facts["gears"].index(numbers)
    return 0


def set_dynamic_batch_size(model_id: Any, dataset: Any, index: Any, batch: Any) -> Any:
    return _choose(model_id, [batch])


def set_dynamic_hw_size(model_id: Any, dataset: Any, index: Any, height: Any, width: Any) -> Any:
    return _choose(model_id, [height, width])


def set_input_dynamic_dims(model_id: Any, dataset: Any, index: Any, dims: Any) -> Any:
    facts = STATE.models[model_id].facts
    if dims["dims"] not in facts["gear_dims"]:
        return BAD_PARAM
    STATE.models[model_id].gear = facts["gear_dims"].index(dims["dims"])
    return 0


def create_dataset() -> Any:
    return new_handle([])


def destroy_dataset(dataset: Any) -> Any:
    return 0 if STATE.handles.pop(dataset, None) is not None else BAD_PARAM


def add_dataset_buffer(dataset: Any, buffer: Any) -> Any:
    STATE.handles[dataset].append(buffer)
    return dataset, 0


def get_dataset_num_buffers(dataset: Any) -> Any:
    return len(STATE.handles[dataset])


def get_dataset_buffer(dataset: Any, index: Any) -> Any:
    return STATE.handles[dataset][index]


def execute(model_id: Any, inputs: Any, outputs: Any) -> Any:
    """Run once, and once more where the fault `second` is asked for."""
    model = STATE.models[model_id]
    files = []
    for at, buffer in enumerate(STATE.handles[inputs]):
        pointer, size = STATE.handles[buffer]
        files.append(os.path.join(model.folder, "i%d" % at))
        with open(files[-1], "wb") as file:
            file.write(ctypes.string_at(pointer, size))
    answer = model.ask(inputs=files, gear=model.gear, folder=model.folder)
    if "error" in answer:
        STATE.error = answer["error"]
        return _FAILED
    for buffer, path in zip(STATE.handles[outputs], answer["outputs"]):
        pointer, size = STATE.handles[buffer]
        with open(path, "rb") as file:
            data = file.read()
        if len(data) > size:
            return BAD_PARAM
        ctypes.memmove(pointer, data, len(data))
    return 0
