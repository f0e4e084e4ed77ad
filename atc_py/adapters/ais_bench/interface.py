"""`InferSession` and its companions, with the members that ais_bench has."""

import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.adapters.ais_bench.batches import file_bytes
from atc_py.adapters.ais_bench.log_lines import as_runtime_errors, info_line
from atc_py.adapters.ais_bench.runtime import (
    RunTimes,
    RuntimeSession,
    SessionOptions,
    device_to_host,
    host_to_device,
)
from atc_py.adapters.ais_bench.tensors import AclTensor, TensorDesc

_CUSTOM_SIZE = 100000
_DEBUG, _INFO = 1, 2
_IMAGE_RANK = 4
_MODES = ("static", "dymbatch", "dymhw", "dymdims", "dymshape")
_SPELLINGS = {mode.replace("dym", "dyn"): mode for mode in _MODES}
"""Modes as a part of ais_bench's documents spells them."""

_sessions: weakref.WeakSet[RuntimeSession] = weakref.WeakSet()


class SpanTimes:
    """Times of runs as later versions of ais_bench have them.

    Attributes:
        exec_time_list: start and end of each run in milliseconds.
    """

    def __init__(self, times: RunTimes) -> None:
        self.exec_time_list = times.spans


class InferSession:
    """An offline model that is loaded, and runs on arrays."""

    def __init__(
        self,
        device_id: int,
        model_path: str,
        acl_json_path: str | None = None,
        debug: bool = False,
        loop: int = 1,
    ) -> None:
        self.device_id = device_id
        self.model_path = str(model_path)
        self.loop = loop
        self.options = SessionOptions(_DEBUG if debug else _INFO, loop, acl_json_path or "")
        self.session = RuntimeSession(self.model_path, device_id, self.options)
        _sessions.add(self.session)
        self.outputs_names = [each.name for each in self.session.get_outputs()]
        self.intensors_desc = self.session.get_inputs()
        self.outtensors_desc = self.session.get_outputs()

    def get_inputs(self) -> list[TensorDesc]:
        """The descriptions of the inputs, without the one that chooses gears."""
        self.intensors_desc = self.session.get_inputs()
        return self.intensors_desc

    def get_outputs(self) -> list[TensorDesc]:
        """The descriptions of the outputs."""
        self.outtensors_desc = self.session.get_outputs()
        return self.outtensors_desc

    def set_loop_count(self, loop: int) -> None:
        """Set how often each run is repeated."""
        self.session.options().loop = loop

    def set_staticbatch(self) -> None:
        """Run the model as it is."""
        self.session.set_staticbatch()

    def set_dynamic_batchsize(self, dym_batch: int | str) -> None:
        """Choose the gear of a batch."""
        self.session.set_dynamic_batchsize(int(dym_batch))

    def set_dynamic_hw(self, w: int, h: int) -> None:
        """Choose the gear of an image size: height first, whatever ais_bench calls it."""
        self.session.set_dynamic_hw(w, h)

    def get_max_dym_batchsize(self) -> int:
        """The largest batch among the gears."""
        return self.session.get_max_dym_batchsize()

    def set_dynamic_dims(self, dym_dims: str) -> None:
        """Choose the gear of dims such as `data:1,600;info:1,3`."""
        self.session.set_dynamic_dims(dym_dims)

    def set_dynamic_shape(self, dym_shape: str) -> None:
        """Choose the shapes of all inputs."""
        self.session.set_dynamic_shape(dym_shape)

    def set_custom_outsize(self, custom_sizes: Sequence[int]) -> None:
        """Take sizes for buffers of outputs, which have no effect here."""
        self.session.set_custom_outsize(custom_sizes)

    def get_dym_aipp_input_exist(self) -> int:
        """The number of inputs with dynamic AIPP."""
        return self.session.get_dym_aipp_input_exist()

    def check_dym_aipp_input_exist(self) -> None:
        """Refuse a model that has not exactly one input with dynamic AIPP."""
        if self.session.get_dym_aipp_input_exist() != 1:
            raise RuntimeError("the model has not one input with dynamic AIPP")

    def load_aipp_config_file(self, config_file: str, _batchsize: int) -> None:
        """Take the settings of dynamic AIPP from an ini file; the batch is the model's."""
        self.session.set_aipp_config(config_file)

    def create_tensor_from_fileslist(self, _desc: TensorDesc, files: Iterable[str]) -> AclTensor:
        """The bytes of files, one after another."""
        with as_runtime_errors():
            parts = [file_bytes(file) for file in files]
        return AclTensor(np.frombuffer(b"".join(parts), np.int8))

    def create_tensor_from_arrays_to_device(self, arrays: npt.ArrayLike) -> AclTensor:
        """An array on the device."""
        tensor = AclTensor(arrays)
        tensor.to_device(self.device_id)
        return tensor

    @staticmethod
    def convert_tensors_to_host(tensors: Iterable[AclTensor]) -> None:
        """Copy tensors to the host."""
        for tensor in tensors:
            tensor.to_host()

    @staticmethod
    def convert_tensors_to_arrays(tensors: Iterable[AclTensor]) -> list[npt.NDArray[Any]]:
        """Tensors as arrays."""
        return [np.array(tensor) for tensor in tensors]

    def run(self, feeds: Sequence[Any], out_array: bool = False) -> list[Any]:
        """Run on feeds in the order of the inputs, of which only the bytes count."""
        outputs = self.session.run(self.outputs_names, feeds)
        if not out_array:
            return list(outputs)
        self.convert_tensors_to_host(outputs)
        return list(self.convert_tensors_to_arrays(outputs))

    def infer(
        self,
        feeds: Sequence[Any],
        mode: str = "static",
        custom_sizes: int | Sequence[int] = _CUSTOM_SIZE,
        out_array: bool = True,
    ) -> list[Any]:
        """Choose shapes by a mode and the shapes of the feeds, and run."""
        arrays = [_fed(feed) for feed in feeds]
        self._prepare(mode, [list(array.shape) for array in arrays], custom_sizes)
        return self.run(arrays, out_array)

    def infer_pipeline(
        self,
        feeds_list: Sequence[Sequence[Any]],
        mode: str = "static",
        custom_sizes: int | Sequence[int] = _CUSTOM_SIZE,
    ) -> list[list[Any]]:
        """Run on several lists of feeds."""
        return [self.infer(feeds, mode, custom_sizes) for feeds in feeds_list]

    def infer_iteration(
        self,
        feeds: Sequence[Any],
        in_out_list: Sequence[int] | None = None,
        iteration_times: int = 1,
        mode: str = "static",
        custom_sizes: int | Sequence[int] = _CUSTOM_SIZE,
        mem_copy: bool = True,
    ) -> list[Any]:
        """Run again and again; an input is the output that `in_out_list` names, or stays with -1."""
        relation = list(in_out_list or ())
        if len(relation) != len(self.intensors_desc):
            raise RuntimeError("inputs' amount and length of in_out_list not matched!")
        fed = list(feeds)
        outputs = self.infer(fed, mode, custom_sizes)
        for _ in range(iteration_times - 1):
            fed = [feed if at < 0 else outputs[at] for feed, at in zip(fed, relation, strict=True)]
            outputs = self.run([_fed(feed) for feed in fed], out_array=True)
        return outputs

    def reset_sumaryinfo(self) -> None:
        """Forget the times of all runs."""
        self.session.reset_sumaryinfo()

    reset_summaryinfo = reset_sumaryinfo

    def sumary(self) -> RunTimes:
        """The estimated milliseconds of all runs, as versions of 2023 have them."""
        return self.session.sumary()

    def summary(self) -> SpanTimes:
        """Start and end of all runs, as later versions have them."""
        return SpanTimes(self.session.sumary())

    def free_resource(self) -> None:
        """Unload the model."""
        self.session.free_resource()

    @staticmethod
    def finalize() -> None:
        """Unload the models of this process and release the device."""
        devices = {session.device_id for session in _sessions}
        for session in list(_sessions):
            session.free_resource()
        _sessions.clear()
        info_line("end to destroy context")
        for device in sorted(devices) or [0]:
            info_line(f"end to reset device is {device}")
        info_line("end to finalize acl")

    def _prepare(
        self, mode: str, shapes: Sequence[Sequence[int]], custom_sizes: int | Sequence[int]
    ) -> None:
        known = _SPELLINGS.get(mode, mode)
        if known == "static":
            self.set_staticbatch()
            return
        if known not in _MODES:
            listed = ",".join(f'"{each}"' for each in _MODES)
            raise RuntimeError(f"wrong infer_mode:{mode}, only support {listed}")
        inputs = self.get_inputs()
        if len(shapes) != len(inputs):
            raise RuntimeError("input datas and intensors nums not matched!")
        if known == "dymbatch":
            self.set_dynamic_batchsize(_batch(inputs, shapes))
        elif known == "dymhw":
            self.set_dynamic_hw(*_image_size(inputs, shapes))
        else:
            text = ";".join(
                f"{row.name}:{','.join(map(str, shape))}"
                for row, shape in zip(inputs, shapes, strict=True)
            )
            self._prepare_dims(known, text, custom_sizes)

    def _prepare_dims(self, mode: str, text: str, custom_sizes: int | Sequence[int]) -> None:
        if mode == "dymdims":
            self.set_dynamic_dims(text)
            return
        self.set_dynamic_shape(text)
        if isinstance(custom_sizes, int):
            custom_sizes = [custom_sizes] * len(self.outtensors_desc)
        elif not isinstance(custom_sizes, list):
            found = f"custom_sizes:{custom_sizes} type:{type(custom_sizes)} invalid"
            raise RuntimeError(found)  # noqa: TRY004  (ais_bench's error)
        self.set_custom_outsize(custom_sizes)


def _fed(feed: Any) -> npt.NDArray[Any] | AclTensor:
    """A feed as an array: one already, a numpy scalar, or a tensor of ours or of torch."""
    if isinstance(feed, np.ndarray | AclTensor):
        return feed
    if isinstance(feed, np.generic):
        return np.array(feed).reshape(1)
    kind = getattr(feed, "type", None)
    if callable(kind) and str(kind()).startswith("torch."):
        return np.ascontiguousarray(feed.detach().cpu().numpy())
    raise RuntimeError(f"type:{type(feed)} invalid")


def _batch(inputs: Sequence[TensorDesc], shapes: Sequence[Sequence[int]]) -> int:
    for row, shape in zip(inputs, shapes, strict=True):
        if len(row.shape) != len(shape):
            raise RuntimeError("input datas and intensors dim not matched!")
        for known, dim in zip(row.shape, shape, strict=True):
            if known < 0:
                return int(dim)
            if known != dim:
                raise RuntimeError("input datas and intensors dim not matched!")
    raise RuntimeError("not a dymbatch model!")


def _image_size(inputs: Sequence[TensorDesc], shapes: Sequence[Sequence[int]]) -> tuple[int, int]:
    for row, shape in zip(inputs, shapes, strict=True):
        at = [axis for axis, dim in enumerate(row.shape) if dim < 0]
        if len(shape) == len(row.shape) == _IMAGE_RANK and len(at) == 2:  # noqa: PLR2004  (height and width)
            return int(shape[at[0]]), int(shape[at[1]])
    raise RuntimeError("not a dymhw model!")


class MultiDeviceSession:
    """Runs on several devices, one after another: the simulated device is this machine."""

    def __init__(
        self,
        model_path: str,
        acl_json_path: str | None = None,
        debug: bool = False,
        loop: int = 1,
    ) -> None:
        self.model_path = model_path
        self.acl_json_path = acl_json_path
        self.debug = debug
        self.loop = loop
        self._seconds: dict[int, list[float]] = {}

    def infer(
        self,
        device_feeds: Mapping[int, Sequence[Sequence[Any]]],
        mode: str = "static",
        custom_sizes: int | Sequence[int] = _CUSTOM_SIZE,
    ) -> dict[int, list[list[Any]]]:
        """The outputs of each list of feeds, by device."""
        self._seconds = {}
        return {
            device: [self._one(device, each, mode, custom_sizes) for each in feeds]
            for device, feeds in device_feeds.items()
        }

    def infer_pipeline(
        self,
        device_feeds_list: Mapping[int, Sequence[Sequence[Sequence[Any]]]],
        mode: str = "static",
        custom_sizes: int | Sequence[int] = _CUSTOM_SIZE,
    ) -> dict[int, list[list[list[Any]]]]:
        """The outputs of each list of lists of feeds, by device."""
        self._seconds = {}
        return {
            device: [[self._one(device, one, mode, custom_sizes) for one in many] for many in feeds]
            for device, feeds in device_feeds_list.items()
        }

    def summary(self) -> dict[int, list[float]]:
        """The milliseconds of each run on this machine, by device, loading included."""
        return self._seconds

    def _one(
        self, device: int, feeds: Sequence[Any], mode: str, custom_sizes: int | Sequence[int]
    ) -> list[Any]:
        started = time.perf_counter()
        session = InferSession(device, self.model_path, self.acl_json_path, self.debug, self.loop)
        outputs = session.infer(feeds, mode, custom_sizes)
        session.free_resource()
        self._seconds.setdefault(device, []).append((time.perf_counter() - started) * 1e3)
        return outputs


class MemorySummary:
    """Times of copies between host and device, of all sessions of this process."""

    @staticmethod
    def get_h2d_time_list() -> list[float]:
        """The milliseconds of copies to the device."""
        return list(host_to_device)

    @staticmethod
    def get_d2h_time_list() -> list[float]:
        """The milliseconds of copies to the host."""
        return list(device_to_host)

    get_H2D_time_list = get_h2d_time_list  # noqa: N815  (names of earlier versions)
    get_D2H_time_list = get_d2h_time_list  # noqa: N815

    @staticmethod
    def reset() -> None:
        """Forget them."""
        host_to_device.clear()
        device_to_host.clear()
