"""What is written is what is read: values, types, attributes, texts."""

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import OM_CONTENT
from atc_py.ir import DeferredConst, DenseConst, Engine, Graph, TensorType
from atc_py.package.reader import OfflineModel, open_model
from atc_py.package.schema import OmOrigin, PackageContents
from atc_py.package.writer import write_model
from atc_py.tensor.dtypes import DType
from tests.failures import in_one_item

NOTHING = PackageContents(producer="test", soc="sim")


def constants_graph(*arrays: npt.NDArray[np.generic], name: str = "w") -> Graph:
    """Return a graph that returns constants."""
    graph = Graph("constants")
    for array in arrays:
        graph.add_output(graph.constant(name, DenseConst(array)))
    return graph


def read_back(path: Path, graph: Graph) -> list[npt.NDArray[np.generic]]:
    """Return the constants of a graph after a round trip, in the order of its outputs."""
    write_model(graph, path, NOTHING)
    with open_model(path) as model:
        tensors = [model.description.tensors[port.tensor] for port in model.description.outputs]
        return [model.array(tensor.member or "") for tensor in tensors]


@in_one_item("dtype", list(DType))
@in_one_item("shape", [(), (1,), (3, 5), (0,), (2, 0, 3), (1, 1, 1, 1, 7)])
def test_constant_comes_back_in_every_dtype_and_shape(
    dtype: DType, shape: tuple[int, ...], tmp_path: Path
) -> None:
    array = np.arange(-3, math.prod(shape) - 3).reshape(shape).astype(dtype.numpy)
    (back,) = read_back(tmp_path / "m.om", constants_graph(array))
    assert back.dtype == array.dtype
    assert back.shape == shape
    np.testing.assert_array_equal(back, array)


def test_extreme_values_come_back_bit_for_bit(tmp_path: Path) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    halves, brains = bits.view(np.float16), bits.view(DType.BFLOAT16.numpy)
    wide = np.array([2**63 - 1, -(2**63)], np.int64)
    back = read_back(tmp_path / "m.om", constants_graph(halves, brains, wide))
    np.testing.assert_array_equal(back[0].view(np.uint16), bits)
    np.testing.assert_array_equal(back[1].view(np.uint16), bits)
    np.testing.assert_array_equal(back[2], wide)


@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.BFLOAT16, DType.UINT8])
def test_arrays_that_are_not_dense_come_back(dtype: DType, tmp_path: Path) -> None:
    base = np.arange(2 * 300 * 5000).reshape(2, 300, 5000).astype(dtype.numpy)
    arrays = [base.transpose(2, 0, 1), base[:, ::-2, ::3], np.broadcast_to(base[0, 0], (9, 5000))]
    for wanted, back in zip(
        arrays, read_back(tmp_path / "m.om", constants_graph(*arrays)), strict=True
    ):
        np.testing.assert_array_equal(back, wanted)
        assert back.flags.c_contiguous


def test_big_endian_array_comes_back_in_value(tmp_path: Path) -> None:
    (back,) = read_back(tmp_path / "m.om", constants_graph(np.array([1, 258, -7], ">i4")))
    assert back.tolist() == [1, 258, -7]


def test_description_holds_the_whole_graph(om: Path) -> None:
    with open_model(om) as model:
        description = model.description
    assert (description.name, description.soc, description.producer) == ("net", "sim", "atc-py 0.0")
    assert description.options == {"precision_mode": "force_fp16", "a": "1"}
    assert [tensor.name for tensor in description.tensors] == ["x", "w", "ones", "h", "y"]
    assert [tensor.format for tensor in description.tensors] == ["NCHW", "ND"] + ["NCHW"] * 3
    assert description.tensors[1].member == "weights/0000_w.npy"
    assert [(port.name, port.tensor) for port in description.inputs] == [("x", 0)]
    assert [(port.name, port.tensor) for port in description.outputs] == [("result", 4), ("h", 3)]
    mul, add = description.nodes
    assert (mul.op, mul.engine, mul.kernel) == ("Mul", "aicpu", None)
    assert (add.op, add.engine, add.kernel) == ("Add", "aicore", "add")
    assert (mul.inputs, mul.outputs) == ([0, -1, 1], [3])
    assert mul.origins == [OmOrigin(0, "n0", "Conv"), OmOrigin(1, "", "Relu")]


def test_attributes_come_back_with_their_types(om: Path) -> None:
    with open_model(om) as model:
        attributes = dict(model.description.nodes[0].attributes)
    floats = attributes.pop("floats")
    assert isinstance(floats, list)
    assert floats[:2] == [1.0, float("inf")]
    assert math.isnan(floats[2])
    assert attributes == {
        "flag": True,
        "count": 3,
        "alpha": 1.0,
        "low": float("-inf"),
        "mode": "edge",
        "dst_type": "bfloat16",
        "ints": [1, 2],
        "none": [],
    }
    assert type(attributes["alpha"]) is float
    assert type(attributes["flag"]) is bool


def test_texts_and_report_come_back(om: Path) -> None:
    with open_model(om) as model:
        assert model.text("kernels/conv/k_1.cpp") == "// äöü\n"
        assert model.text("kernels/add.cpp") == "// add\n"
        assert model.report == {"nodes": 2, "findings": [{"code": "ATC4012"}], "ratio": 0.5}
        assert model.members["kernels/add.cpp"] == len("// add\n")
        assert list(model.members)[-1] == "model.json"
        assert model.path == om


def test_written_model_counts_bytes_and_members(
    graph: Graph, contents: PackageContents, tmp_path: Path
) -> None:
    written = write_model(graph, tmp_path / "m.om", contents)
    assert written.path == tmp_path / "m.om"
    assert written.file_bytes == (tmp_path / "m.om").stat().st_size
    assert written.weight_bytes == 24
    assert written.members == 6


def test_empty_graph_can_be_packaged(tmp_path: Path) -> None:
    write_model(Graph(), tmp_path / "m.om", NOTHING)
    with open_model(tmp_path / "m.om") as model:
        assert list(model.members) == ["report.json", "model.json"]


def test_array_is_read_only_and_aligned(om: Path) -> None:
    with open_model(om) as model:
        array = model.array("weights/0000_w.npy")
        assert not array.flags.writeable
        assert not array.flags.owndata
        assert array.ctypes.data % 64 == 0
        del array


def test_array_outlives_the_model(om: Path) -> None:
    model = open_model(om)
    array = model.array("weights/0000_w.npy")
    model.close()
    assert not model._data.closed
    assert array.sum() == 15
    del array
    model.close()
    assert model._data.closed


@pytest.mark.parametrize("member", ["weights/none.npy", "report.json", "", "../model.om"])
def test_array_of_no_constant_is_refused(om: Path, member: str) -> None:
    with open_model(om) as model, pytest.raises(AtcError) as caught:
        model.array(member)
    assert caught.value.diagnostics[0].code is OM_CONTENT


@pytest.mark.parametrize("member", ["kernels/none", "weights/0000_w.npy"])
def test_text_of_a_member_that_is_not_text_is_refused(om: Path, member: str) -> None:
    with open_model(om) as model, pytest.raises(AtcError) as caught:
        model.text(member)
    assert caught.value.diagnostics[0].code is OM_CONTENT


def test_graph_without_engines_is_a_bug(graph: Graph, tmp_path: Path) -> None:
    graph.nodes[0].engine = None
    with pytest.raises(ValueError, match="no engine"):
        write_model(graph, tmp_path / "m.om", NOTHING)
    assert list(tmp_path.iterdir()) == []


def test_constant_that_breaks_its_promise_is_a_bug(tmp_path: Path) -> None:
    graph = constants_graph(np.zeros(3, np.float32))
    graph.outputs[0].type = TensorType(DType.FLOAT32, (4,))
    with pytest.raises(ValueError, match="float32"):
        write_model(graph, tmp_path / "m.om", NOTHING)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../k", "/k", "", "a//b", "a\nb", "k:x", "a\\b", "x" * 300, "."])
def test_kernel_with_unsafe_name_is_a_bug(graph: Graph, tmp_path: Path, name: str) -> None:
    contents = PackageContents(producer="", soc="", kernels={name: ""})
    with pytest.raises(ValueError, match="cannot be a member"):
        write_model(graph, tmp_path / "m.om", contents)


class CountingConst(DenseConst):
    """Counts how it is used."""

    __slots__ = ("reads", "releases")

    def __init__(self, array: npt.NDArray[np.generic]) -> None:
        super().__init__(array)
        self.reads = self.releases = 0

    def numpy(self) -> npt.NDArray[np.generic]:
        self.reads += 1
        return super().numpy()

    def release(self) -> None:
        self.releases += 1


def test_constant_is_read_once_and_released(tmp_path: Path) -> None:
    graph, const = Graph(), CountingConst(np.zeros(4, np.int8))
    value = graph.constant("w", const)
    kind = TensorType(DType.INT8, (4,))
    graph.add_node("Add", [value, value], [("y", kind)]).engine = Engine.AICORE
    write_model(graph, tmp_path / "m.om", NOTHING)
    assert (const.reads, const.releases) == (1, 1)
    with open_model(tmp_path / "m.om") as model:
        assert model.description.nodes[0].inputs == [0, 0]


def test_failing_constant_leaves_nothing_and_is_not_called_a_write_error(tmp_path: Path) -> None:
    def gone() -> npt.NDArray[np.generic]:
        raise FileNotFoundError("weights.bin")

    graph = Graph()
    const = DeferredConst(DType.INT8, (4,), (), gone, "gone")
    graph.add_output(graph.constant("w", const))
    with pytest.raises(FileNotFoundError):
        write_model(graph, tmp_path / "m.om", NOTHING)
    assert list(tmp_path.iterdir()) == []


def test_hostile_names_become_harmless_members(tmp_path: Path) -> None:
    names = ["../../x", "/etc/passwd", "nul\0", "new\nline", "x" * 5000, "größe", "A", "a", "CON"]
    graph = Graph("../..\0\n")
    for name in names:
        graph.add_output(graph.constant(name, DenseConst(np.zeros(1, np.int8))), name)
    write_model(graph, tmp_path / "m.om", NOTHING)
    with open_model(tmp_path / "m.om") as model:
        assert [port.name for port in model.description.outputs] == names
        assert [tensor.name for tensor in model.description.tensors] == names
        check_harmless(model)


def check_harmless(model: OfflineModel) -> None:
    """Check for members below weights/ that are short, plain, and differ without regard to case."""
    members = [tensor.member or "" for tensor in model.description.tensors]
    assert len({member.lower() for member in members}) == len(members)
    for member in members:
        folder, stem = member.split("/")
        assert folder == "weights"
        assert len(stem) < 100
        assert stem.isascii()
        assert stem.isprintable()
        assert not stem.startswith(".")
