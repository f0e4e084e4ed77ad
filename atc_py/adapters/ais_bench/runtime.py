"""A session as aclruntime has it: bytes in, bytes out, one gear at a time, on the simulated NPU."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.adapters.ais_bench.descriptions import (
    describe_inputs,
    describe_outputs,
    dynamic_pictures,
)
from atc_py.adapters.ais_bench.gear_choice import (
    gear_of_batch,
    gear_of_dims,
    gear_of_image,
    has_open_dims,
    named_dims,
    select_shapes,
)
from atc_py.adapters.ais_bench.log_lines import as_runtime_errors, info_line, plain_line, refused
from atc_py.adapters.ais_bench.tensors import AclTensor, TensorDesc
from atc_py.cost.network import network_cost
from atc_py.options.gears import GearKind, Gears
from atc_py.package.schema import OmModel
from atc_py.pipeline.running.gears import Fitted, fitted
from atc_py.pipeline.running.model import Model
from atc_py.pipeline.running.pictures import settings_feeds
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape, closed_shape

_MILLI = 1e3
_MOST_RUNS = 10**6
"""Runs of a session whose times are kept, repetitions included."""

host_to_device: list[float] = []
device_to_host: list[float] = []
"""Milliseconds that copies take on this machine, of all sessions of the process."""

_model_ids = count(1)
_opened: set[int] = set()
"""Devices that sessions of this process have opened."""


@dataclass
class SessionOptions:
    """Options of a session.

    Attributes:
        log_level: 1 for everything.
        loop: how often each run is repeated.
        acl_json_path: a file of settings for dumps and profiles, which has no effect.
    """

    log_level: int = 2
    loop: int = 1
    acl_json_path: str = ""


@dataclass
class RunTimes:
    """Estimated time of each run.

    Attributes:
        exec_time_list: milliseconds.
        spans: start and end of each, counted from the first start.
    """

    exec_time_list: list[float] = field(default_factory=list)

    @property
    def spans(self) -> list[tuple[float, float]]:
        """Start and end of each run, as though one had followed the other."""
        ends = np.cumsum(self.exec_time_list).tolist()
        return [(end - each, end) for end, each in zip(ends, self.exec_time_list, strict=True)]

    def __repr__(self) -> str:
        return f"exec_time_list:{self.exec_time_list}"


class RuntimeSession:
    """A model on the device.

    A run is simulated once, however often `loop` repeats it: the same data give the same results,
    and the estimate of their time is the same.
    """

    def __init__(
        self, model_path: str, device_id: int = 0, options: SessionOptions | None = None
    ) -> None:
        self._options = options or SessionOptions()
        self.device_id = device_id
        self.model_id = next(_model_ids)
        self._model: Model | None = None
        if not _opened:
            info_line("acl init success")
        if device_id not in _opened:
            info_line(f"open device {device_id} success")
        _opened.add(device_id)
        failed = f"load model from file failed, model file is {model_path}"
        with as_runtime_errors(failed):
            self._model = Model(Path(model_path))
            if self._model.gears is not None:
                self._model.at_gear(self._model.gears.largest)
        info_line(f"load model {model_path} success")
        info_line("create model description success")
        self._inputs = describe_inputs(self._model)
        self._outputs = describe_outputs(self._model)
        self._gear: int | None = None
        self._shapes: Mapping[str, Shape] = {}
        self._aipp: Path | None = None
        self._times = RunTimes()
        self._estimates: dict[int | None, float] = {}

    @property
    def model(self) -> Model:
        """The model, while it is loaded."""
        if self._model is None:
            raise refused("the model is unloaded; make a new session")
        return self._model

    @property
    def gears(self) -> Gears | None:
        """The model's gears."""
        return self.model.gears

    def options(self) -> SessionOptions:
        """The options, which may be changed."""
        return self._options

    def get_inputs(self) -> list[TensorDesc]:
        """The descriptions of the inputs."""
        return [replace(each, shape=list(each.shape)) for each in self._inputs]

    def get_outputs(self) -> list[TensorDesc]:
        """The descriptions of the outputs."""
        return [replace(each, shape=list(each.shape)) for each in self._outputs]

    def set_staticbatch(self) -> None:
        """Run the model as it is; one with gears needs one of them."""
        self._choose(None, {})

    def set_dynamic_batchsize(self, batch: int) -> None:
        """Choose the gear of a batch."""
        self._choose(gear_of_batch(self.gears, int(batch)), {})

    def set_dynamic_hw(self, height: int, width: int) -> None:
        """Choose the gear of an image size."""
        self._choose(gear_of_image(self.gears, int(height), int(width)), {})

    def set_dynamic_dims(self, dims: str) -> None:
        """Choose the gear of dims such as `data:1,600;info:1,3`."""
        given = named_dims(dims)
        self._choose(gear_of_dims(self.gears, given), given)

    def set_dynamic_shape(self, shapes: str) -> None:
        """Choose the shapes of all inputs, in a text as for `set_dynamic_dims`."""
        self._choose(None, select_shapes(shapes, self.model, self._inputs))

    def set_custom_outsize(self, sizes: Sequence[int]) -> None:
        """Take sizes for buffers of outputs, which are as large as they need to be here."""
        if not all(isinstance(size, int | np.integer) for size in sizes):
            raise refused(f"custom sizes {sizes} are not numbers of bytes")

    def get_max_dym_batchsize(self) -> int:
        """The largest batch among the gears, 0 without gears of batches."""
        gears = self.gears
        if gears is None or gears.kind is not GearKind.BATCH:
            return 0
        return max(gear[0] for gear in gears.gears)

    def get_dym_aipp_input_exist(self) -> int:
        """The number of inputs whose pictures need settings."""
        return len(dynamic_pictures(self.model.description))

    def set_aipp_config(self, file: str) -> None:
        """Take the settings of dynamic AIPP from a file, for all runs that follow.

        Raises:
            RuntimeError: the file makes no sense for the model.
        """
        with as_runtime_errors("wrong aipp config file content!"):
            settings_feeds(self._graph().description, Path(file))
        self._aipp = Path(file)

    def run(self, _names: Sequence[str], feeds: Sequence[Any]) -> list[AclTensor]:
        """Run once and count the run `loop` times; return the outputs in order.

        Raises:
            RuntimeError: an input is missing or has another number of bytes; the device failed.
        """
        arrays = self._arrays(feeds)
        loop = max(1, self._options.loop)
        if len(self._times.exec_time_list) + loop > _MOST_RUNS:
            raise refused(f"more than {_MOST_RUNS} runs are not counted; repeat each less often")
        with as_runtime_errors("acl execute failed:1"):
            fitting = self._fitted(arrays)
            results = fitting.cut(self._graph().run(fitting.feeds))
            estimate = self._estimate()
        self._times.exec_time_list += [estimate] * loop
        if loop > 1:
            plain_line(f"loop inference exec: ({loop}/{loop})")
        started = time.perf_counter()
        tensors = [AclTensor(array) for array in results.values()]
        device_to_host.append((time.perf_counter() - started) * _MILLI)
        return tensors

    def check(self, feeds: Sequence[Any]) -> None:
        """Refuse what `run` refuses before it runs."""
        self._arrays(feeds)

    def sumary(self) -> RunTimes:
        """The times of all runs."""
        return self._times

    def reset_sumaryinfo(self) -> None:
        """Forget the times of all runs."""
        self._times = RunTimes()

    def free_resource(self) -> None:
        """Unload the model."""
        if self._model is not None:
            self._model.close()
            self._model = None
            info_line(f"unload model success, model Id is {self.model_id}")

    def _graph(self) -> Model:
        """The model of the chosen gear; all of it where none is chosen."""
        return self.model if self._gear is None else self.model.at_gear(self._gear)

    def _estimate(self) -> float:
        """The estimated milliseconds of a run on the SoC that the model is for."""
        if self._gear not in self._estimates:
            time_ = network_cost(self._graph().description).time
            self._estimates[self._gear] = time_.expected * _MILLI
        return self._estimates[self._gear]

    def _choose(self, gear: int | None, shapes: Mapping[str, Shape]) -> None:
        self._gear, self._shapes = gear, shapes
        description = self._graph().description
        ports = {port.name: port.tensor for port in description.inputs}
        for row in self._inputs:
            tensor = description.tensors[ports[row.name]]
            dims = shapes.get(row.name) or [dim or 0 for dim in tensor.shape]
            row.realsize = math.prod(dims) * DType(tensor.dtype).itemsize

    def _arrays(self, feeds: Sequence[Any]) -> Mapping[str, npt.NDArray[Any]]:
        """Feeds with the types of the inputs; only their numbers of bytes count."""
        if len(feeds) != len(self._inputs):
            raise refused(f"intensors in:{len(feeds)} need:{len(self._inputs)} not match")
        if self.gears is not None and self._gear is None:
            raise refused(
                f"model has gears of {self.gears.kind.parameter}, set one of them: {self.gears.text()}"
            )
        started = time.perf_counter()
        found = {}
        description = self._graph().description
        if not self._shapes and has_open_dims(description):
            raise refused("model has dims that each run decides, set the shapes of its inputs")
        ports = {port.name: port.tensor for port in description.inputs}
        for at, (feed, row) in enumerate(zip(feeds, self._inputs, strict=True)):
            data = _bytes_of(feed)
            if data.nbytes != row.realsize:
                raise refused(
                    f"Check i:{at} name:{row.name} in size:{data.nbytes} "
                    f"needsize:{row.realsize} not match"
                )
            tensor = description.tensors[ports[row.name]]
            shape = self._shapes.get(row.name) or closed_shape(tuple(tensor.shape))
            found[row.name] = data.view(DType(tensor.dtype).numpy).reshape(shape)
        found |= self._settings(description)
        host_to_device.append((time.perf_counter() - started) * _MILLI)
        return found

    def _fitted(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Fitted:
        """Data of the chosen dims, padded to those of the gear."""
        gears, shapes = self.gears, self._shapes
        if gears is None or gears.padding is None or self._gear is None or not shapes:
            return Fitted(0, dict(arrays))
        return fitted(gears, arrays, shapes)

    def _settings(self, description: OmModel) -> dict[str, npt.NDArray[Any]]:
        if not dynamic_pictures(description):
            return {}
        if self._aipp is None:
            raise refused("model with dynamic aipp input can't find config file.")
        with as_runtime_errors("wrong aipp config file content!"):
            return dict(settings_feeds(description, self._aipp))

    def __repr__(self) -> str:
        lines = ["<Model>", f"device:\t{self.device_id}", "input:"]
        lines += [f"  #{at}    {row!r}" for at, row in enumerate(self._inputs)]
        lines.append("output:")
        lines += [f"  #{at}    {row!r}" for at, row in enumerate(self._outputs)]
        return "\n".join(lines) + "\n"


def _bytes_of(feed: Any) -> npt.NDArray[np.uint8]:
    if isinstance(feed, AclTensor):
        return feed.raw()
    return np.ascontiguousarray(feed).reshape(-1).view(np.uint8)
