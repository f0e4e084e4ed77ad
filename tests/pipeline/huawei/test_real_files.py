"""Files that Huawei's atc wrote, beside the project: run, compared with their networks, recovered."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

import atc_py
from atc_py.pipeline.huawei import open_offline
from atc_py.tensor.shapes import closed_shape
from tests.package.ge.test_real_files import GEMM_310, GEMM_910B, LANENET, REAL, VANILLA
from tests.sampling import sampled

onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="files of other makers stay outside")

LANENET_NETWORK, VANILLA_NETWORK = "lanenet_310B4.onnx", "vanillacnn_rebuilt.onnx"
IMAGE = (1, 3, 256, 512)
Array = NDArray[Any]


def cosine(a: Array, b: Array) -> float:
    x, y = (each.astype(np.float64).ravel() for each in (a, b))
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))


def original(path: Path, feed: Array) -> list[Array]:
    session = onnxruntime.InferenceSession(path)
    return list(session.run(None, {session.get_inputs()[0].name: feed}))


def own(path: Path, om: Path, feed: Array, soc: str) -> list[Array]:
    """Outputs of atc-py's own compile of a network in float16."""
    name = onnx.load(path, load_external_data=False).graph.input[0].name
    atc_py.convert(path, om, soc=soc, precision_mode="force_fp16", input_shape={name: feed.shape})
    with atc_py.load(om) as model:
        return list(model.run({name: feed}).values())


def as_compiled(path: Path, target: Path) -> Path:
    """The network as CANN compiles it: Resize of mode half_pixel is asymmetric."""
    model = onnx.load(path)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "coordinate_transformation_mode":
                attribute.s = b"asymmetric"
    onnx.save(model, target)
    return target


@pytest.mark.parametrize("name", sampled([VANILLA], [LANENET]))
def test_run_computes_the_network(tmp_path: Path, name: str) -> None:
    network = REAL / VANILLA_NETWORK
    if name == LANENET:
        network = as_compiled(REAL / LANENET_NETWORK, tmp_path / "net.onnx")
    with atc_py.load(REAL / name) as model:
        (port,) = model.inputs
        feed = np.random.default_rng(0).standard_normal(closed_shape(port.shape)).astype("f4")
        found = list(model.run({port.name: feed}).values())
        soc = model.description.soc
        assert {each.code.id for each in model.findings} <= {"ATC5009"}
    wanted = original(network, feed)
    compiled = own(network, tmp_path / "own.om", feed, soc)
    for real, exact, ours in zip(found, wanted, compiled, strict=True):
        assert cosine(real, exact) >= 0.999
        assert np.linalg.norm(real - exact) <= 2 * np.linalg.norm(ours - exact)


def test_lanenet_deviates_from_its_file_as_cann_is_known_to(tmp_path: Path) -> None:
    feed = np.random.default_rng(0).standard_normal(IMAGE).astype(np.float32)
    with atc_py.load(REAL / LANENET) as model:
        found = list(model.run({"input_image": feed}).values())
    om = tmp_path / "own.om"
    atc_py.convert(
        REAL / LANENET_NETWORK, om, soc="Ascend310B4", precision_mode="force_fp16",
        input_shape={"input_image": IMAGE}, semantics="cann", cann=8,
    )  # fmt: skip
    with atc_py.load(om) as model:
        ours = list(model.run({"input_image": feed}).values())
    for real, mine in zip(found, ours, strict=True):
        assert cosine(real, mine) >= 0.99999


@pytest.mark.parametrize(
    ("name", "network"), sampled([(VANILLA, VANILLA_NETWORK)], [(LANENET, LANENET_NETWORK)])
)
def test_windows_from_the_file_alone_are_those_of_the_network(name: str, network: str) -> None:
    with open_offline(REAL / name) as alone, open_offline(REAL / name, REAL / network) as told:
        pairs = zip(alone.description.nodes, told.description.nodes, strict=True)
        for one, other in pairs:
            assert (one.op, one.attributes) == (other.op, other.attributes), one.name


@pytest.mark.parametrize(
    ("name", "arena"), [(LANENET, 6_555_648), (VANILLA, 410_624), (GEMM_310, 0), (GEMM_910B, 0)]
)
def test_memory_plan_of_the_file_is_sound(name: str, arena: int) -> None:
    with open_offline(REAL / name) as model:
        record: Any = model.report["huawei"]
        assert record["memory_plan"] == "of the file"
        assert not record["missing"]
        assert model.description.memory is not None
        assert model.description.memory.arena == arena


@pytest.mark.parametrize("name", sampled([VANILLA], [LANENET]))
def test_recovered_network_passes_the_checker_and_has_the_bits_of_a_run(
    tmp_path: Path, name: str
) -> None:
    output = tmp_path / "recovered.onnx"
    atc_py.export_model(REAL / name, output)
    onnx.checker.check_model(onnx.load(output), full_check=True)
    with atc_py.load(REAL / name, device="ort") as model:
        (port,) = model.inputs
        feed = np.random.default_rng(1).standard_normal(closed_shape(port.shape)).astype("f4")
        wanted = list(model.run({port.name: feed}).values())
    for found, exact in zip(original(output, feed), wanted, strict=True):
        np.testing.assert_array_equal(found, exact)


def initializers(model: onnx.ModelProto) -> dict[str, Array]:
    """Constants by name; those of Constant and Identity as well."""
    found = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            found[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        elif node.op_type == "Identity" and node.input[0] in found:
            found[node.output[0]] = found[node.input[0]]
    return found


def test_weights_of_lanenet_are_the_float16_of_the_originals(tmp_path: Path) -> None:
    output = tmp_path / "plain.onnx"
    atc_py.export_model(REAL / LANENET, output, plain=True)
    recovered, network = onnx.load(output), onnx.load(REAL / LANENET_NETWORK)
    onnx.checker.check_model(recovered, full_check=True)
    ours, theirs = initializers(recovered), initializers(network)
    nodes = {node.name.rpartition("/")[0]: node for node in recovered.graph.node}
    kinds = ("Conv", "ConvTranspose", "PRelu")
    wanted = [node for node in network.graph.node if node.op_type in kinds]
    kept = [node for node in wanted if node.name in nodes]
    assert (len(wanted), len(kept)) == (260, 256)  # four have a BatchNormalization folded in
    for node in kept:
        weight = ours[nodes[node.name].input[1]]
        exact = theirs[node.input[1]].astype(np.float16)
        assert weight.tobytes() == exact.tobytes(), node.name


@pytest.mark.sweep
def test_lanenet_compared_by_the_nodes_of_its_network() -> None:
    done = atc_py.compare_model(REAL / LANENET, reference=REAL / LANENET_NETWORK)
    failing = next(layer for layer in done.layers if 0.05 < layer.figures.distance < 0.9)
    assert failing.source == "/upsample_binary_4_0/Resize"
    assert done.semantics is not None
    assert [row.name for each in failing.deviating for row in each.deviations] == [
        "Resize/linear-as-asymmetric"
    ]
    assert len(done.semantics.nodes) == 4
    (warning,) = done.warnings
    assert warning.code.id == "ATC3017"
    assert "CANN 8 computes this node and 3 more differently" in warning.message
    assert len(done.layers) > 300


def test_lanenet_profiled_by_the_launches_of_the_file() -> None:
    (cost,) = atc_py.profile_model(REAL / LANENET).costs
    assert cost.soc.name == "Ascend310B4"
    assert len(cost.kernels) == 152
    assert {kernel.cost.cores for kernel in cost.kernels} == {1}
