"""The back end interface of ONNX: `prepare`, `run_model` and `run_node` on the simulated device."""

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep

from atc_py.api import convert, load
from atc_py.diag import BAD_OPTION, BAD_RUN_INPUT
from atc_py.pipeline.running.model import Model
from atc_py.text import Text

_IR_VERSION = 8
_DEVICES = {"CPU": "sim", "ORT": "ort"}
"""Names of devices here, by those of ONNX's interface."""

_DEFAULT_OPSET = 13
"""The newest opset of the operator list."""


class AtcBackendRep(BackendRep):
    """A compiled model that is ready to run.

    Attributes:
        folder: folder of its file; it is removed when nothing references the model any more.
    """

    def __init__(self, model: Model, folder: Path) -> None:
        self._model = model
        self.folder = folder
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def run(self, inputs: Any, **_: Any) -> tuple[npt.NDArray[Any], ...]:
        """The outputs in the model's order.

        Args:
            inputs: arrays by name, in the model's order, or the only one.

        Raises:
            AtcError: BAD_RUN_INPUT where they do not fit, DEVICE_FAILED where the run stops.
        """
        outputs = self._model.run(_by_name(inputs, [port.name for port in self._model.inputs]))
        return tuple(outputs[port.name] for port in self._model.outputs)


class AtcBackend(Backend):
    """Compiles ONNX models and runs them on the simulated device."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> bool:
        """True if the operator list has what the model uses."""
        from atc_py.api import check_models
        from atc_py.check.findings import Standing

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            onnx.save(model, path)
            (checked,) = check_models(path).models
        return cls.supports_device(device) and checked.standing is not Standing.ERROR

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **options: Any) -> AtcBackendRep:
        """Compile `model`.

        Args:
            model: the model.
            device: `CPU` for the simulator, `ORT` for onnxruntime on the exported model.
            **options: those of `atc_py.convert`.

        Raises:
            AtcError: BAD_OPTION for another device, and what conversion finds wrong.
        """
        name = _device(device)
        if name is None:
            known = " and ".join(_DEVICES)
            raise BAD_OPTION.error(
                Text("models run on {known}, not on {device}", known=known, device=repr(device))
            )
        folder = Path(tempfile.mkdtemp(prefix="atc-py-"))
        try:
            onnx.save(model, folder / "model.onnx")
            convert(folder / "model.onnx", folder / "model.om", **options)
            return AtcBackendRep(load(folder / "model.om", device=name), folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    @classmethod
    def run_model(
        cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **options: Any
    ) -> tuple[npt.NDArray[Any], ...]:
        """Compile `model` and run it once."""
        return cls.prepare(model, device, **options).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **options: Any,
    ) -> tuple[npt.NDArray[Any], ...]:
        """Run one node.

        Args:
            node: the node.
            inputs: arrays by name, by position, or the only one.
            device: `CPU` or `ORT`.
            outputs_info: dtype and shape of each output that cannot be inferred.
            **options: those of `atc_py.convert`; `opset_version` is the node's, 13 by default.
        """
        opset = options.pop("opset_version", _DEFAULT_OPSET)
        names = [name for name in node.input if name]
        feeds = _by_name(inputs, names)
        graph = helper.make_graph(
            [node],
            "node",
            [_info(name, array.dtype, array.shape) for name, array in feeds.items()],
            _outputs(node, outputs_info),
        )
        imports = [helper.make_opsetid("", opset)]
        if node.domain:
            imports.append(helper.make_opsetid(node.domain, 1))
        model = helper.make_model(graph, opset_imports=imports, ir_version=_IR_VERSION)
        return cls.run_model(model, feeds, device, **options)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """True if models run on `device`."""
        return _device(device) is not None


def _device(name: str) -> str | None:
    """The device that `CPU`, `ORT` or `CPU:0` stands for; None for others."""
    return _DEVICES.get(name.partition(":")[0])


def _by_name(inputs: Any, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """The arrays by name."""
    if isinstance(inputs, dict):
        return {name: np.asarray(array) for name, array in inputs.items()}
    arrays = inputs if isinstance(inputs, list | tuple) else [inputs]
    if len(arrays) != len(names):
        raise BAD_RUN_INPUT.error(
            Text(
                "there are {count} inputs, found {count_2} arrays",
                count=len(names),
                count_2=len(arrays),
            )
        )
    return {name: np.asarray(array) for name, array in zip(names, arrays, strict=True)}


def _outputs(
    node: onnx.NodeProto, given: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None
) -> list[onnx.ValueInfoProto]:
    names = [name for name in node.output if name]
    if given is None:
        return [onnx.ValueInfoProto(name=name) for name in names]
    return [
        _info(name, np.dtype(dtype), shape)
        for name, (dtype, shape) in zip(names, given, strict=True)
    ]


def _info(name: str, dtype: np.dtype[Any], shape: Sequence[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)


prepare = AtcBackend.prepare
run_model = AtcBackend.run_model
run_node = AtcBackend.run_node
supports_device = AtcBackend.supports_device
