"""Working graphs written to ONNX files: what was not rewritten stands there as it was."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from atc_py.diag.codes import BAD_OPTION, CANNOT_WRITE
from atc_py.onnx_graph.folding.bind import observe_inputs
from atc_py.onnx_graph.graph import OnnxGraph
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.rewriting import model_message
from atc_py.onnx_graph.rewriting.onnx_writer import bytes_read, write_onnx
from atc_py.onnx_graph.rewriting.qdq import import_quantized
from atc_py.onnx_graph.source.model import FOLD_LIMIT
from atc_py.tensor.dtypes import DType
from tests.end_to_end import run_with_onnxruntime
from tests.onnx_graph import onnx_files

node = helper.make_node
FLOAT = onnx_files.FLOAT
LARGE = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)
"""Large enough to stay in the file that is read."""


def opened(path: Path) -> tuple[OnnxFile, OnnxGraph]:
    """Return a file and a graph of it."""
    file = read_model(path)
    return file, file.graph(observe_inputs(path, file.inputs, {}))


def copied(proto: onnx.ModelProto, folder: Path, **options: Any) -> onnx.ModelProto:
    """Return `proto`, read and written again."""
    write_onnx(*opened(onnx_files.save(proto, folder)), folder / "out.onnx", **options)
    return onnx.load(folder / "out.onnx")


def weights_of(proto: onnx.ModelProto) -> dict[str, npt.NDArray[Any]]:
    """Return the initializers."""
    return {each.name: numpy_helper.to_array(each) for each in proto.graph.initializer}


def branch(name: str, weight: npt.NDArray[Any], source: str) -> onnx.GraphProto:
    """Return a subgraph with a weight of its own, and a value from around it."""
    return helper.make_graph(
        [node("MatMul", [source, f"{name}/w"], [f"{name}/y"], name=name)],
        name,
        [],
        [onnx.ValueInfoProto(name=f"{name}/y")],
        [numpy_helper.from_array(weight, f"{name}/w")],
    )


def several_forms() -> onnx.ModelProto:
    """Return large and small weights, a Constant, an If, open dims, texts about the model."""
    nodes = [
        node("Constant", [], ["k"], name="k", value=numpy_helper.from_array(LARGE)),
        node("MatMul", ["x", "w"], ["a"], name="first", doc_string="kept"),
        node("MatMul", ["a", "k"], ["b"]),
        node("Add", ["b", "small"], ["c"], name="last"),
        node(
            "If",
            ["flag"],
            ["y"],
            name="if",
            then_branch=branch("then", LARGE, "c"),
            else_branch=branch("else", -LARGE, "c"),
        ),
    ]
    weights = {"w": LARGE, "small": np.arange(40, dtype=np.float32)}
    inputs: onnx_files.Ports = {"x": (FLOAT, ["batch", 40]), "flag": (TensorProto.BOOL, [])}
    proto = onnx_files.model(nodes, inputs, ["y"], weights)
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", FLOAT, ["batch", 40]))
    proto.graph.value_info.append(helper.make_tensor_value_info("c", FLOAT, ["batch", 40]))
    proto.graph.doc_string, proto.doc_string = "a graph", "a model"
    helper.set_model_props(proto, {"who": "me"})
    proto.graph.metadata_props.add(key="made", value="here")
    return proto


def test_a_graph_that_was_not_rewritten_comes_out_as_it_was(tmp_path: Path) -> None:
    proto = several_forms()
    found = copied(proto, tmp_path)
    onnx.checker.check_model(found, full_check=True)
    assert (found.producer_name, found.ir_version) == ("atc-py", proto.ir_version)
    for name in ("producer_name", "producer_version"):
        found.ClearField(name)
    assert found.SerializeToString(deterministic=True) == proto.SerializeToString(
        deterministic=True
    )


@pytest.mark.parametrize("field", ["float_data", "raw_data"])
def test_weights_stay_in_the_field_they_were_in(field: str, tmp_path: Path) -> None:
    proto = several_forms()
    if field == "float_data":
        tensor = helper.make_tensor("w", FLOAT, LARGE.shape, LARGE.reshape(-1).tolist())
        proto.graph.initializer[0].CopyFrom(tensor)
    found = copied(proto, tmp_path).graph.initializer[0]
    assert found.SerializeToString() == proto.graph.initializer[0].SerializeToString()
    assert len(getattr(found, field)) > 0


def test_weights_go_beside_the_model_when_asked(tmp_path: Path) -> None:
    proto = several_forms()
    file, graph = opened(onnx_files.save(proto, tmp_path))
    done = write_onnx(file, graph, tmp_path / "out.onnx", external=True)
    assert done.data == tmp_path / "out.onnx.data"
    assert done.data.stat().st_size == LARGE.nbytes
    assert done.bytes == LARGE.nbytes + (tmp_path / "out.onnx").stat().st_size
    bare = onnx.load(tmp_path / "out.onnx", load_external_data=False)
    assert [each.data_location for each in bare.graph.initializer] == [TensorProto.EXTERNAL, 0]
    whole = onnx.load(tmp_path / "out.onnx")
    assert all(np.array_equal(a, b) for a, b in _pairs(weights_of(whole), weights_of(proto)))


def test_weights_go_beside_a_model_that_a_protobuf_cannot_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = onnx_files.save(several_forms(), tmp_path)
    size = write_onnx(*opened(path), tmp_path / "whole.onnx").bytes
    assert size == (tmp_path / "whole.onnx").stat().st_size
    monkeypatch.setattr(model_message, "INLINE_LIMIT", size)
    assert write_onnx(*opened(path), tmp_path / "out.onnx").data is None
    monkeypatch.setattr(model_message, "INLINE_LIMIT", size - 1)
    assert write_onnx(*opened(path), tmp_path / "out.onnx").data == tmp_path / "out.onnx.data"
    onnx.checker.check_model(str(tmp_path / "out.onnx"))


def test_weights_beside_the_model_that_is_read_come_into_the_one_that_is_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "in.onnx"
    onnx.save(
        several_forms(), path, save_as_external_data=True, location="in.bin", size_threshold=0
    )
    file, graph = opened(path)
    assert bytes_read(file) == path.stat().st_size + (tmp_path / "in.bin").stat().st_size
    (tmp_path / "else").mkdir()
    write_onnx(file, graph, tmp_path / "else" / "out.onnx")
    found = onnx.load(tmp_path / "else" / "out.onnx")
    proto = several_forms()
    assert all(np.array_equal(a, b) for a, b in _pairs(weights_of(found), weights_of(proto)))
    k = next(each for each in found.graph.node if each.name == "k")
    assert np.array_equal(numpy_helper.to_array(k.attribute[0].t), LARGE)


def test_weights_of_the_model_that_is_read_are_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "in.onnx"
    onnx.save(several_forms(), path, save_as_external_data=True, location="out.onnx.data")
    before = (tmp_path / "out.onnx.data").read_bytes()
    file, graph = opened(path)
    onnx_files.fails(
        lambda: write_onnx(file, graph, tmp_path / "out.onnx", external=True), BAD_OPTION
    )
    assert (tmp_path / "out.onnx.data").read_bytes() == before
    assert not (tmp_path / "out.onnx").exists()


def test_initializers_of_foreign_dtypes_stay(tmp_path: Path) -> None:
    texts = TensorProto(
        name="texts", data_type=TensorProto.STRING, dims=[2], string_data=[b"a", b"b"]
    )
    eights = onnx.TensorProto(
        name="eights",
        data_type=TensorProto.FLOAT8E4M3FN,
        dims=[5000],
        raw_data=bytes(range(250)) * 20,
    )
    nodes = [
        node("Gather", ["texts", "i"], ["t"]),
        node("Gather", ["eights", "i"], ["e"]),
        node("Cast", ["e"], ["y"], to=FLOAT),
    ]
    proto = onnx_files.model(
        nodes, {"i": (TensorProto.INT64, [1])}, ["t", "y"], opsets={"": 19}, ir_version=9
    )
    proto.graph.initializer.extend([texts, eights])
    found = copied(proto, tmp_path)
    assert [each.SerializeToString() for each in found.graph.initializer] == [
        each.SerializeToString() for each in (texts, eights)
    ]


def test_what_nothing_needs_is_left_out(tmp_path: Path) -> None:
    nodes = [node("Relu", ["x"], ["y"]), node("Add", ["x", "dead"], ["z"])]
    weights = {"dead": np.ones(2, np.float32), "unused": np.ones(2, np.float32)}
    found = copied(onnx_files.model(nodes, {"x": (FLOAT, [2])}, ["y"], weights), tmp_path)
    assert [each.op_type for each in found.graph.node] == ["Relu"]
    assert not found.graph.initializer


def test_initializers_that_are_inputs_too_stay_so_while_they_are_there(tmp_path: Path) -> None:
    ports = {name: (FLOAT, [2]) for name in ("x", "w", "unused")}
    weights = {name: np.ones(2, np.float32) for name in ("w", "unused")}
    proto = onnx_files.model([node("Add", ["x", "w"], ["y"])], ports, ["y"], weights, ir_version=3)
    found = copied(proto, tmp_path)
    assert [each.name for each in found.graph.input] == ["x", "w"]
    assert found.ir_version == 4


class Recorded:
    """A constant that notes when it is read and released."""

    dtype = DType.FLOAT32

    def __init__(self, name: str, events: list[str], shape: tuple[int, ...] = (2,)) -> None:
        self.shape = shape
        self._name = name
        self._events = events

    def numpy(self) -> npt.NDArray[np.generic]:
        self._events.append(f"read {self._name}")
        return np.ones(2, np.float32)

    def release(self) -> None:
        self._events.append(f"release {self._name}")


def test_weights_are_read_one_at_a_time(tmp_path: Path) -> None:
    nodes = [node("Sum", ["x", "a", "b"], ["y"])]
    weights = {name: np.zeros(2, np.float32) for name in "ab"}
    path = onnx_files.save(onnx_files.model(nodes, {"x": (FLOAT, [2])}, ["y"], weights), tmp_path)
    file, graph = opened(path)
    events: list[str] = []
    graph.consts |= {name: Recorded(name, events) for name in "ab"}
    write_onnx(file, graph, tmp_path / "out.onnx")
    assert events == ["read a", "release a", "read b", "release b"]
    assert [each.sum() for each in weights_of(onnx.load(tmp_path / "out.onnx")).values()] == [2, 2]


class Broken(Recorded):
    """A constant that cannot be read."""

    def numpy(self) -> npt.NDArray[np.generic]:
        raise RuntimeError("cannot be read")


@pytest.mark.parametrize("external", [False, True])
def test_a_write_that_fails_leaves_what_was_there(external: bool, tmp_path: Path) -> None:
    nodes = [node("Sum", ["x", "a"], ["y"])]
    weights = {"a": np.zeros(2, np.float32)}
    path = onnx_files.save(onnx_files.model(nodes, {"x": (FLOAT, [2])}, ["y"], weights), tmp_path)
    file, graph = opened(path)
    graph.consts["a"] = Broken("a", [], (1000,))
    out = tmp_path / "out.onnx"
    out.write_bytes(b"before")
    with pytest.raises(RuntimeError, match="cannot be read"):
        write_onnx(file, graph, out, external=external)
    assert out.read_bytes() == b"before"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model.onnx", "out.onnx"]


def test_a_folder_is_not_an_output(tmp_path: Path) -> None:
    file, graph = opened(onnx_files.save(several_forms(), tmp_path))
    (tmp_path / "out.onnx").mkdir()
    onnx_files.fails(lambda: write_onnx(file, graph, tmp_path / "out.onnx"), CANNOT_WRITE)


def quantized(nodes: Sequence[onnx.NodeProto]) -> onnx.ModelProto:
    """Return a layer between QuantizeLinear and DequantizeLinear, with `nodes` after it."""
    weights = {
        "s": np.float32(0.5),
        "z": np.int8(0),
        "w": np.arange(-8, 8, dtype=np.int8).reshape(4, 4),
        "two": np.int64(2),
    }
    layer = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], name="q"),
        node("DequantizeLinear", ["q", "s", "z"], ["d"], name="d"),
        node("DequantizeLinear", ["w", "s", "z"], ["v"], name="v"),
        node("MatMul", ["d", "v"], ["m"], name="layer"),
    ]
    names = {name: np.asarray(value) for name, value in weights.items()}
    return onnx_files.model([*layer, *nodes], {"x": (FLOAT, [2, 4])}, ["y"], names)


def imported(proto: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    """Return `proto` in the deploy form, by way of a file."""
    file, graph = opened(onnx_files.save(proto, folder))
    import_quantized(graph, file.tensors, FOLD_LIMIT)
    gone = ("QuantizeLinear", "DequantizeLinear")
    write_onnx(file, graph, folder / "out.onnx", gone=gone)
    return onnx.load(folder / "out.onnx")


def test_nodes_that_the_import_folded_stand_again(tmp_path: Path) -> None:
    following = [
        node("Constant", [], ["one"], name="one", value=numpy_helper.from_array(np.array(1))),
        node("Shape", ["x"], ["shape"], name="shape"),
        node("Gather", ["shape", "one"], ["dim"], name="gather"),
        node("Mul", ["dim", "two"], ["double"], name="mul"),
        node("Cast", ["double"], ["real"], name="cast", to=FLOAT),
        node("Add", ["m", "real"], ["y"], name="add"),
    ]
    proto = quantized(following)
    found = imported(proto, tmp_path)
    there = {each.name: each.SerializeToString() for each in found.graph.node}
    assert all(there[each.name] == each.SerializeToString() for each in following)
    assert [each.op_type for each in found.graph.node][:3] == [
        "AscendQuant",
        "MatMul",
        "AscendDequant",
    ]
    assert set(weights_of(found)) == {"w", "two", "m/deq_scale"}


def test_a_constant_of_codes_that_are_gone_stays_a_constant(tmp_path: Path) -> None:
    following = [node("Shape", ["d"], ["shape"]), node("Reshape", ["m", "shape"], ["y"])]
    found = imported(quantized(following), tmp_path)
    assert "Shape" not in {each.op_type for each in found.graph.node}
    assert weights_of(found)["shape"].tolist() == [2, 4]


def test_new_nodes_have_names_of_their_own(tmp_path: Path) -> None:
    found = imported(quantized([node("Relu", ["m"], ["y"], name="relu")]), tmp_path)
    assert [each.name for each in found.graph.node] == [
        "q",
        "layer",
        "layer/AscendDequant",
        "relu",
    ]


def test_types_of_values_that_changed_are_left_out(tmp_path: Path) -> None:
    proto = quantized([node("Relu", ["m"], ["y"], name="relu")])
    for name in ("q", "m", "v"):
        proto.graph.value_info.append(helper.make_tensor_value_info(name, FLOAT, [2, 4]))
    assert not imported(proto, tmp_path).graph.value_info


def test_a_written_model_runs(tmp_path: Path) -> None:
    proto = several_forms()
    feeds = {"x": LARGE[:3], "flag": np.array(False)}  # noqa: FBT003  (an array)
    before = run_with_onnxruntime(proto, feeds)["y"]
    assert np.array_equal(run_with_onnxruntime(copied(proto, tmp_path), feeds)["y"], before)


def _pairs(
    found: dict[str, npt.NDArray[Any]], wanted: dict[str, npt.NDArray[Any]]
) -> list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Return arrays of one name; the names must be the same."""
    assert list(found) == list(wanted)
    return [(found[name], wanted[name]) for name in wanted]
