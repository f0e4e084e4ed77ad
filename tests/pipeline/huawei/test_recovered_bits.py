"""The recovered network against a run: each operator alone, on the operands that it has in the run.

All but convolutions give the same bits. A convolution's sums are float32 in an order of the runtime's
own, which moves few elements, and none by more than float16 rounds the largest one. The same holds of
what atc-py compiles itself.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.compare.observed import observed_device
from atc_py.device.ort.model import emulate
from atc_py.device.ort.writing import model_bytes
from atc_py.package.reader import OfflineModel
from atc_py.pipeline.huawei import open_offline
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import closed_shape
from tests.package.ge.test_real_files import LANENET, REAL, VANILLA
from tests.pipeline.huawei.example_models import chained
from tests.sampling import sampled

onnxruntime = pytest.importorskip("onnxruntime")

Arrays = Mapping[str, NDArray[Any]]
SUMS = frozenset({"Conv2D", "Conv2DTransposeD"})
SHARE, HALF = 1e-3, 2.0**-10
"""Elements of a network's convolutions that may differ, and how far, of the largest one."""


class Difference(NamedTuple):
    """An operator's elements, those that differ, and by how much of the largest one."""

    operator: str
    elements: int
    differ: int
    reach: float


def values_of_run(model: OfflineModel) -> dict[int, NDArray[Any]]:
    """Every tensor of a run of the simulator on random data, by position."""
    tensors, generator = model.description.tensors, np.random.default_rng(1)
    feeds = {}
    for port in model.description.inputs:
        tensor = tensors[port.tensor]
        drawn = generator.standard_normal(closed_shape(tuple(tensor.shape)))
        feeds[port.name] = drawn.astype(DType(tensor.dtype).numpy)
    found = {port.tensor: feeds[port.name] for port in model.description.inputs}
    device = observed_device("sim", model)
    try:
        device.run(feeds, range(len(tensors)), lambda at, each: found.update({at: each.copy()}))
    finally:
        device.close()
    return {at: array.astype(DType(tensors[at].dtype).numpy) for at, array in found.items()}


def differences(model: OfflineModel) -> list[Difference]:
    """Every operator of the emulation, alone, against its results in the run."""
    known, emulated = values_of_run(model), emulate(model, flat=False)
    written = onnx.ModelProto.FromString(model_bytes(emulated, "model"))
    values = {name: known[at] for name, at in emulated.names.items() if at in known}
    values |= {port.name: known[port.tensor] for port in model.description.inputs}
    found = []
    for node in written.graph.node:
        if node.domain and node.output[0] in values:
            made, wanted = alone(written, node, values), values[node.output[0]]
            apart = np.abs(made.astype(np.float64) - wanted.astype(np.float64)).max(initial=0)
            largest = float(np.abs(wanted.astype(np.float64)).max(initial=0)) or 1.0
            count = int(np.count_nonzero(made != wanted))
            found.append(Difference(node.op_type, wanted.size, count, float(apart) / largest))
    return found


def alone(written: onnx.ModelProto, node: onnx.NodeProto, values: Arrays) -> NDArray[Any]:
    """The first result of one node of the emulation."""
    shown = {each.name: each for each in (*written.graph.value_info, *written.graph.input)}
    shown |= {each.name: each for each in written.graph.output}
    kept = [each for each in written.graph.initializer if each.name in node.input]
    fed = [name for name in dict.fromkeys(node.input) if name in shown]
    graph = onnx.helper.make_graph(
        [node], "one", [shown[name] for name in fed], [shown[node.output[0]]], kept
    )
    model = onnx.helper.make_model(
        graph, functions=called(written, node.op_type), opset_imports=list(written.opset_import),
        ir_version=written.ir_version,
    )  # fmt: skip
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    result: NDArray[Any] = session.run(None, {name: values[name] for name in fed})[0]
    return result


def called(written: onnx.ModelProto, operator: str) -> Collection[onnx.FunctionProto]:
    return [each for each in written.functions if each.name == operator]


def hold(found: list[Difference]) -> None:
    assert {each.operator for each in found if each.differ} <= SUMS
    sums = [each for each in found if each.operator in SUMS]
    assert sum(each.differ for each in sums) <= SHARE * sum(each.elements for each in sums)
    assert max(each.reach for each in sums) <= HALF


def test_operators_of_a_small_model_give_the_bits_of_the_run(tmp_path: Path) -> None:
    with open_offline(chained(tmp_path / "m.om")) as model:
        found = differences(model)
    assert {"Conv2D", "Tanh", "MaxPoolV3", "MatMulV2"} <= {each.operator for each in found}
    hold(found)


@pytest.mark.skipif(not REAL.is_dir(), reason="files of other makers stay outside")
@pytest.mark.parametrize(("name", "operators"), sampled([(VANILLA, 22)], [(LANENET, 355)]))
def test_operators_of_real_models_give_the_bits_of_the_run(name: str, operators: int) -> None:
    with open_offline(REAL / name) as model:
        found = differences(model)
    assert len(found) == operators
    hold(found)


@pytest.mark.skipif(not REAL.is_dir(), reason="files of other makers stay outside")
def test_it_is_the_same_of_what_is_compiled_here(tmp_path: Path) -> None:
    path = tmp_path / "own.om"
    network = REAL / "vanillacnn_rebuilt.onnx"
    atc_py.convert(network, path, soc="Ascend310", precision_mode="force_fp16")
    with open_offline(path) as model:
        hold(differences(model))
