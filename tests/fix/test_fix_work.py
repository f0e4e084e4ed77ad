"""Fixing takes work in proportion to the nodes, and memory in proportion to the largest weight."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.compare.proof import model_data
from atc_py.compare.proof.result_gap import ResultGap
from atc_py.compare.proof.whole_models import FixProof, _effects_of_rounding
from atc_py.compare.reference import open_reference
from atc_py.compare.reference_run import ReferenceRun
from atc_py.onnx_graph.running.piece import ENGINES
from atc_py.pipeline.running.feeds import read_feeds
from atc_py.pipeline.running.model import Port
from tests.executed_lines import PACKAGE, executed, steep
from tests.sampling import sampled

pytestmark = pytest.mark.usefixtures("base_list")

SIZES = (40, 80, 160)
SIDE = 4096
"""A weight of this side has 64 MiB."""

node = helper.make_node


def chain(op_type: str, length: int, path: Path) -> None:
    """Write a chain of nodes that the list refuses, each with weights of its own if it takes any."""
    nodes, weights = [], []
    for at in range(length):
        own = [f"s{at}", f"b{at}"] if op_type == "LayerNormalization" else []
        weights += [numpy_helper.from_array(np.full(4, at + 1, np.float32), name) for name in own]
        nodes.append(node(op_type, [f"v{at}", *own], [f"v{at + 1}"]))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "chain",
        [value("v0", TensorProto.FLOAT, [2, 4])],
        [value(f"v{length}", TensorProto.FLOAT, [2, 4])],
        weights,
    )
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)


@pytest.mark.parametrize("op_type", sampled(("HardSwish",), ("LayerNormalization",)))
def test_work_grows_with_the_number_of_refused_nodes(op_type: str, tmp_path: Path) -> None:
    def fixed(nodes: int) -> None:
        path = tmp_path / f"{nodes}.onnx"
        done = atc_py.fix_model(path, tmp_path / "fixed.onnx", seeds=1, simulate=False)
        assert len(done.rewrites) == nodes

    for nodes in (SIZES[0] // 2, *SIZES):
        chain(op_type, nodes, tmp_path / f"{nodes}.onnx")
    fixed(SIZES[0] // 2)  # caches fill
    counts = [executed(lambda nodes=nodes: fixed(nodes), PACKAGE) for nodes in SIZES]  # type: ignore[misc]
    assert sum(counts[0].values()) > 100 * SIZES[0]
    assert steep(counts) == {}


def heavy(weights: int, folder: Path) -> Path:
    """Write a model of `weights` products and refused nodes; its weights are a file of holes."""
    size = SIDE * SIDE * 4
    tensors = []
    for at in range(weights):
        tensor = TensorProto(name=f"w{at}", data_type=TensorProto.FLOAT, dims=[SIDE, SIDE])
        tensor.data_location = TensorProto.EXTERNAL
        for key, entry in (("location", "weights"), ("offset", at * size), ("length", size)):
            tensor.external_data.add(key=key, value=str(entry))
        tensors.append(tensor)
    nodes = [
        each
        for at in range(weights)
        for each in (
            node("MatMul", [f"h{at}", f"w{at}"], [f"m{at}"]),
            node("HardSwish", [f"m{at}"], [f"h{at + 1}"]),
        )
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "heavy",
        [value("h0", TensorProto.FLOAT, [1, SIDE])],
        [value(f"h{weights}", TensorProto.FLOAT, [1, SIDE])],
        tensors,
    )
    opset = helper.make_opsetid("", 14)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    (folder / "heavy.onnx").write_bytes(model.SerializeToString())
    with (folder / "weights").open("wb") as file:
        file.truncate(weights * size)
    return folder / "heavy.onnx"


PEAK = """
import resource, sys
import atc_py
done = atc_py.fix_model(sys.argv[1], sys.argv[2], external_data=True, simulate=False)
assert done.rewrites[0].difference is not None
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux")
def test_weights_are_read_one_after_another(tmp_path: Path) -> None:
    """A model of five weights takes no more than twice one weight beyond a model of one."""
    peaks = []
    for weights in (1, 5):
        folder = tmp_path / str(weights)
        folder.mkdir()
        command = [
            sys.executable,
            "-c",
            PEAK,
            str(heavy(weights, folder)),
            str(folder / "out.onnx"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout.split()[-1]))
    assert peaks[1] - peaks[0] < 2 * 64


def wide(nodes: int, path: Path) -> Path:
    """Write a model that the list takes as it is."""
    weight = numpy_helper.from_array(np.zeros((64, 64), np.float32), "w")
    chain_ = [node("MatMul", [f"v{at}", "w"], [f"v{at + 1}"]) for at in range(nodes)]
    value = helper.make_tensor_value_info
    ends = [value(name, TensorProto.FLOAT, [2, 64]) for name in ("v0", f"v{nodes}")]
    graph = helper.make_graph(chain_, "wide", ends[:1], ends[1:], [weight])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path
    )
    return path


def test_a_model_that_needs_nothing_costs_at_most_two_checks_and_no_copy(tmp_path: Path) -> None:
    path = wide(200, tmp_path / "sound.onnx")

    def check() -> None:
        assert atc_py.check_models(path).standing.value == "supported"

    def fix() -> None:
        done = atc_py.fix_model(path)
        assert (done.output, done.is_sound) == (None, True)

    check()
    fix()  # caches fill
    alone, whole = (sum(executed(each, PACKAGE).values()) for each in (check, fix))
    assert whole <= 2 * alone
    assert [each.name for each in tmp_path.iterdir()] == ["sound.onnx"]
    assert atc_py.fix_model(path, tmp_path / "named.onnx").output == tmp_path / "named.onnx"


def test_a_file_with_faults_is_not_copied(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.zeros((3, 4), np.float32), "w")
    nodes = [node("Relu", ["x"], ["a"], name="n"), node("MatMul", ["a", "w"], ["y"], name="n")]
    value = helper.make_tensor_value_info
    ends = [value(name, TensorProto.FLOAT, [2, 4]) for name in "xy"]
    graph = helper.make_graph(nodes, "faulty", ends[:1], ends[1:], [weight])
    path = tmp_path / "faulty.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8), path
    )
    for for_cann in (False, True):
        done = atc_py.fix_model(path, tmp_path / "fixed.onnx", for_cann=for_cann)
        assert (done.output, done.left != ()) == (None, True)
    assert not (tmp_path / "fixed.onnx").exists()


def test_data_files_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds of integers and the runs of the proof come from one reading."""
    text = """<ir_version: 8, opset_import: ["" : 13]>
    net (int64[4] i) => (bool[4] y) <int64[1] five = {5}> { y = Less (i, five) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "net.onnx")
    np.save(tmp_path / "i.npy", np.arange(4))
    reads: list[Sequence[str]] = []

    def counted(given: Iterable[str], ports: Sequence[Port]) -> dict[str, Any]:
        reads.append(list(given))
        return read_feeds(reads[-1], ports)

    monkeypatch.setattr(model_data, "read_feeds", counted)
    done = atc_py.fix_model(tmp_path / "net.onnx", data=[str(tmp_path / "i.npy")])
    assert done.rewrites
    assert done.ranges
    assert reads == [[str(tmp_path / "i.npy")]]


def _counted_runs(monkeypatch: pytest.MonkeyPatch) -> list[ReferenceRun]:
    """Gather runs of whole models as they begin."""
    runs: list[ReferenceRun] = []
    begin = ReferenceRun.__init__

    def counted(self: ReferenceRun, *args: Any) -> None:
        runs.append(self)
        begin(self, *args)

    monkeypatch.setattr(ReferenceRun, "__init__", counted)
    return runs


def test_proof_starts_engines_once_and_runs_both_models_once_a_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain("HardSwish", 3, tmp_path / "m.onnx")
    start, starts, runs = ENGINES["onnxruntime"], [0], _counted_runs(monkeypatch)

    def counted(*args: Any) -> Any:
        starts[0] += 1
        return start(*args)

    monkeypatch.setitem(ENGINES, "onnxruntime", counted)
    found = []
    for seeds in (1, 3):
        starts[0] = 0
        runs.clear()
        atc_py.fix_model(tmp_path / "m.onnx", tmp_path / "f.onnx", seeds=seeds, simulate=False)
        assert len(runs) == 2 * seeds
        found.append(starts[0])
    assert found[0] == found[1]


def test_effect_of_rounding_on_all_outputs_takes_one_run_a_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain("HardSwish", 2, tmp_path / "m.onnx")
    original, names = open_reference(tmp_path / "m.onnx"), ["v1", "v2"]
    samples = []
    for seed in (0, 1):
        feeds = {"v0": np.random.default_rng(seed).standard_normal((2, 4)).astype(np.float32)}
        run = ReferenceRun(original, feeds)
        run.expect(dict.fromkeys(names, 1))
        samples.append((feeds, {name: np.asarray(run.value(name)) for name in names}))
    proof = FixProof((0, 1), {name: ResultGap() for name in names}, [], samples)
    runs = _counted_runs(monkeypatch)
    effects = _effects_of_rounding(original, proof, names, 1e-4)
    assert len(runs) == len(samples)
    assert all(0 < effect < 1e-2 for effect in effects.values())
