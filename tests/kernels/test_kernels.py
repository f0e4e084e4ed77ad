"""Kernel stubs: which nodes share one, what is in it, and what is said when it cannot be made."""

import json
import re
from pathlib import Path

import pytest

from atc_py.diag import AtcError
from atc_py.ir import AttrValue, Engine, Graph, Phase, TensorType, Value
from atc_py.ir.nodes import Node
from atc_py.kernels.kernels import KernelSet, emit_kernels, host_headers, write_kernels
from atc_py.kernels.keys import KernelKey
from atc_py.target import TargetOp, find_operator, find_soc, operators
from atc_py.tensor.dtypes import DType, Format
from tests.failures import in_one_item
from tests.kernels.conftest import AddNode

SIM = find_soc("sim")
F16, F32 = DType.FLOAT16, DType.FLOAT32
MAP = (1, 16, 6, 6)
CONV = [MAP, (16, 16, 3, 3)]
LAUNCHING = [row for row in operators() if row.launches_kernel]


def _names(graph: Graph) -> list[str]:
    """Return the kernel of each node, in the graph's order."""
    kernels = emit_kernels(graph, SIM)
    return [kernels.kernel_of[node.name] for node in graph.nodes]


def test_equal_nodes_share_a_stub_whatever_their_shapes(graph: Graph, add_node: AddNode) -> None:
    add_node(graph, "Relu", [(8, 8)], [(8, 8)])
    add_node(graph, "Relu", [(2, 3)], [(2, 3)])
    add_node(graph, "Relu", [(8, 8)], [(8, 8)])
    kernels = emit_kernels(graph, SIM)
    (name,) = set(kernels.kernel_of.values())
    assert len(kernels.kernel_of) == 3
    own = [f"{name}/{name}{end}" for end in (".cpp", "_tiling.h", ".json")]
    project = ["kernels.json", "CMakeLists.txt", "host_kernels.cpp"]
    assert list(kernels.files) == [*own, f"{name}/README.md", *project]


def test_a_shared_stub_has_a_sorted_row_per_shape_with_its_nodes(
    graph: Graph, add_node: AddNode
) -> None:
    for shape in ((8, 8), (2, 3), (8, 8)):
        add_node(graph, "Relu", [shape], [shape])
    first, second, third = graph.nodes
    (header,) = _texts(emit_kernels(graph, SIM), "_tiling.h")
    table = header[header.index("kRows[] = {") :].splitlines()[1:9]
    assert table[0] == "    // x 2x3, y 2x3"
    assert table[1] == f"    //   {second.name}"
    assert table[2].startswith("    {1, 6, ")
    assert table[4] == "    // x 8x8, y 8x8"
    assert table[5:7] == [f"    //   {first.name}", f"    //   {third.name}"]
    assert table[7].startswith("    {1, 64, ")


@pytest.mark.parametrize(
    "other",
    [
        {"attributes": {"strides": (1, 1, 2, 2)}},
        {"attributes": {"dilations": (1, 1, 2, 2)}},
        {"inputs": [TensorType(F32, MAP, Format.NCHW), (16, 16, 3, 3)]},
        {"inputs": [TensorType(F16, MAP, Format.ND), (16, 16, 3, 3)]},
        {"outputs": [TensorType(F32, MAP, Format.NCHW)]},
        {"outputs": [TensorType(F16, MAP, Format.ND)]},
        {"inputs": [*CONV, (16,)]},
        {"inputs": [*CONV, None, (16,)]},
        {"engine": Engine.AICPU},
    ],
    ids=[
        "strides",
        "dilations",
        "dtype",
        "format",
        "out-dtype",
        "out-format",
        "bias",
        "offset",
        "engine",
    ],
)
def test_what_differs_in_any_part_of_the_key_has_its_own_stub(
    graph: Graph, add_node: AddNode, other: dict[str, object]
) -> None:
    base: dict[str, object] = {"inputs": CONV, "outputs": [MAP]}
    add_node(graph, "Conv2D", **base)  # type: ignore[arg-type]
    add_node(graph, "Conv2D", **{**base, **other})  # type: ignore[arg-type]
    assert len(set(_names(graph))) == 2


@pytest.mark.parametrize("spelling", [{"dilations": (1, 1, 1, 1), "groups": 1}, {"groups": True}])
def test_defaults_and_spellings_of_values_make_no_difference(
    graph: Graph, add_node: AddNode, spelling: dict[str, AttrValue]
) -> None:
    add_node(graph, "Conv2D", CONV, [MAP])
    add_node(graph, "Conv2D", [*CONV, None], [MAP], spelling)
    assert len(set(_names(graph))) == 1


def test_an_integer_for_a_float_makes_no_difference(graph: Graph, add_node: AddNode) -> None:
    for value in (2, 2.0):
        add_node(graph, "Muls", attributes={"value": value})
    assert len(set(_names(graph))) == 1


def test_equal_nan_attributes_share_a_stub(graph: Graph, add_node: AddNode) -> None:
    for _ in range(2):
        add_node(graph, "Muls", attributes={"value": float("nan")})
    assert len(set(_names(graph))) == 1


@pytest.mark.parametrize(("op", "name"), [("LeakyRelu", "negative_slope"), ("Muls", "value")])
def test_zeros_of_both_signs_have_stubs_of_their_own(
    graph: Graph, add_node: AddNode, op: str, name: str
) -> None:
    for value in (0.0, -0.0, 0.0):
        add_node(graph, op, attributes={name: value})
    kernels = emit_kernels(graph, SIM)
    first, second, third = (kernels.kernel_of[node.name] for node in graph.nodes)
    assert first == third != second
    assert "= -0.0f;" in kernels.files[f"{second}/{second}.cpp"]
    assert "= 0.0f;" in kernels.files[f"{first}/{first}.cpp"]


def test_kernel_names_are_the_same_in_every_run(graph: Graph, add_node: AddNode) -> None:
    add_node(graph, "Conv2D", CONV, [MAP])
    add_node(graph, "Relu")
    add_node(graph, "Cast")
    names = _names(graph)
    assert names == ["conv2d_f16_4c22b7fa", "relu_f16_c9e0c59d", "cast_f16_43f56c87"]


def test_kernel_names_do_not_clash_when_digests_begin_alike(
    graph: Graph, add_node: AddNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KernelKey, "digest", lambda key: f"{'0' * 8}{len(key.text()):056}")
    add_node(graph, "Relu", [(2,)], [(2,)])
    add_node(graph, "Relu", [MAP], [MAP])
    first, second = _names(graph)
    assert first == "relu_f16_00000000"
    assert second == "relu_f16_0000000000000000"


def test_emission_is_deterministic(graph: Graph, add_node: AddNode) -> None:
    for row in LAUNCHING:
        add_node(graph, row.name)
    once, again = emit_kernels(graph, SIM), emit_kernels(graph, SIM)
    assert list(once.files.items()) == list(again.files.items())
    assert once.kernel_of == again.kernel_of


def test_nodes_that_launch_nothing_have_no_kernel(graph: Graph, add_node: AddNode) -> None:
    add_node(graph, "Flatten", [(2, 3)], [(2, 3)], engine=Engine.LOCAL)
    add_node(graph, "Cast", engine=Engine.LOCAL)
    assert emit_kernels(graph, SIM) == KernelSet({}, {})


def _engines(row: TargetOp) -> list[Engine]:
    has_aicore = row.columns or not row.aicpu
    return [Engine.AICORE] * bool(has_aicore) + [Engine.AICPU] * bool(row.aicpu)


@in_one_item(
    ("op", "engine"), [(row.name, engine) for row in LAUNCHING for engine in _engines(row)]
)
def test_every_row_that_launches_a_kernel_renders(
    op: str, engine: Engine, add_node: AddNode
) -> None:
    graph = Graph("test", Phase.TYPED)
    add_node(graph, op, engine=engine)
    kernels = emit_kernels(graph, SIM)
    (name,) = kernels.kernel_of.values()
    assert re.fullmatch(r"[a-z][a-z0-9_]*_[0-9a-f]{8}", name)
    for text in kernels.files.values():
        _check_text(text)
    source = kernels.files[f"{name}/{name}.cpp"]
    assert f'#include "{name}_tiling.h"' in source
    entry = f'extern "C" __global__ __aicore__ void {name}('
    assert (entry in source) == (engine is Engine.AICORE)


def _check_text(text: str) -> None:
    """Check that brackets are balanced, lines are clean, and the text ends with one line break."""
    bare = re.sub(r'//[^\n]*|"[^"\n]*"', "", text)
    for left, right in ("()", "{}", "[]"):
        assert bare.count(left) == bare.count(right)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "\n\n\n" not in text
    assert not re.search(r"[ \t]\n|\t|\r", text)


@pytest.mark.parametrize("column", range(max(len(row.columns) for row in LAUNCHING)))
def test_every_dtype_column_renders(column: int, graph: Graph, add_node: AddNode) -> None:
    for row in LAUNCHING:
        if column < len(row.columns):
            dtypes = row.columns[column]
            needed = [n for n, operand in enumerate(row.inputs) if not operand.optional]
            x = [TensorType(dtypes.inputs[n], MAP, Format.NCHW) for n in needed]
            count = max(1, sum(not operand.optional for operand in row.outputs))
            results = [*dtypes.outputs, *dtypes.outputs[-1:] * count][:count]
            y = [TensorType(dtype, MAP, Format.NCHW) for dtype in results]
            add_node(graph, row.name, x, y)
    for text in emit_kernels(graph, SIM).files.values():
        _check_text(text)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (F16, F32, "Cast(y, x, RoundMode::CAST_NONE, count);"),
        (F32, F16, "Cast(y, x, RoundMode::CAST_RINT, count);"),
        (F32, DType.INT32, "Cast(y, x, RoundMode::CAST_TRUNC, count);"),
        (
            F16,
            DType.BOOL,
            "y.SetValue(at, static_cast<uint8_t>(a != static_cast<half>(0) ? 1 : 0));",
        ),
    ],
)
def test_cast_rounds_as_the_dtypes_ask(
    graph: Graph, add_node: AddNode, source: DType, target: DType, expected: str
) -> None:
    add_node(graph, "Cast", [TensorType(source, MAP)], [TensorType(target, MAP)])
    (text,) = _texts(emit_kernels(graph, SIM), ".cpp")
    assert expected in text


def test_arithmetic_that_the_vector_unit_lacks_is_the_scalar_units(
    graph: Graph, add_node: AddNode
) -> None:
    int8 = TensorType(DType.INT8, MAP)
    for op, count, attributes in (("Relu", 1, {}), ("Mul", 2, {}), ("AccumulateNV2", 2, {"N": 2})):
        add_node(graph, op, [int8] * count, [int8], attributes)
    for text in _texts(emit_kernels(graph, SIM), ".cpp"):
        assert text.count("The vector unit has no such arithmetic of int8; the scalar unit") == 1


def test_cube_results_leave_split_cores_by_fixpipe(graph: Graph, add_node: AddNode) -> None:
    add_node(graph, "MatMulV2")
    (split,) = _texts(emit_kernels(graph, find_soc("Ascend910B1")), ".cpp")
    (joined,) = _texts(emit_kernels(graph, SIM), ".cpp")
    assert "Fixpipe" in split
    assert "Fixpipe" not in joined


HOSTILE = [
    "evil */ int main() { } /*",
    "two\nlines\r\n#include <evil>",
    "continued \\",
    "trigraph ??/",
    "next\u2028line\u0085and\x0b\x0c",
    "turn \u202e direction",
    "tab\tand bell\x07",
    "long" * 1000,
]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_from_the_model_cannot_leave_their_comment(
    name: str, graph: Graph, add_node: AddNode
) -> None:
    node = add_node(graph, "Relu", [MAP], [MAP])
    (plain,) = _texts(emit_kernels(graph, SIM), "_tiling.h")
    old, node.name = node.name, name
    (header,) = _texts(emit_kernels(graph, SIM), "_tiling.h")
    differing = [
        (left, right)
        for left, right in zip(plain.splitlines(), header.splitlines(), strict=True)
        if left != right
    ]
    ((left, right),) = differing
    assert left == f"    //   {old}"
    assert right.startswith("    //   ")
    assert not set(right) & set("*\\?\t\u202e")
    assert len(right) < 200


def test_names_in_other_scripts_stay_readable(graph: Graph, add_node: AddNode) -> None:
    add_node(graph, "Relu", [MAP], [MAP]).name = "/层1/Relu_été"
    (header,) = _texts(emit_kernels(graph, SIM), "_tiling.h")
    assert "//   /层1/Relu_été\n" in header


@in_one_item("op", [row.name for row in LAUNCHING])
def test_description_has_lists_of_one_length_and_the_nodes_operands(
    op: str, add_node: AddNode
) -> None:
    graph = Graph("test", Phase.TYPED)
    node = add_node(graph, op)
    (text,) = _texts(emit_kernels(graph, SIM), ".json")
    (description,) = json.loads(text)
    row = find_operator(op)
    assert row is not None
    assert description["op"] == op
    entries = description["input_desc"] + description["output_desc"]
    assert {len(entry[key]) for entry in entries for key in ("type", "format")} == {1}
    present = [row.input_at(n) for n, value in enumerate(node.inputs) if value is not None]
    names = dict.fromkeys(operand.name for operand in present if operand is not None)
    assert [entry["name"] for entry in description["input_desc"]] == list(names)
    kinds = {entry["param_type"] for entry in entries + description["attr"]}
    assert kinds <= {"required", "optional", "dynamic"}
    assert {entry["name"] for entry in description["attr"]} == {
        a.name for a in row.attributes if not a.unsaid
    }


def test_buffers_of_large_tensors_fit_the_core(graph: Graph, add_node: AddNode) -> None:
    """Masks take a bit of an element: the bytes of all are rounded up."""
    shape = (3, 999, 1001)
    for op, count in (("Less", 2), ("SelectV2", 3), ("IsInf", 1), ("Add", 2), ("Shrink", 1)):
        add_node(graph, op, [shape] * count, [shape])
    index = json.loads(emit_kernels(graph, SIM).files["kernels.json"])
    for kernel in index["kernels"]:
        used = [each["bytes"] for each in kernel["rows"][0]["buffers"] if each["storage"] == "ub"]
        assert 0.8 < sum(used) / index["buffers"]["ub"] <= 1, kernel["op"]


def test_workspace_is_that_of_the_hungriest_kernel(add_node: AddNode) -> None:
    def workspace(*ops: str) -> int:
        graph = Graph("test", Phase.TYPED)
        for op in ops:
            add_node(graph, op)
        return emit_kernels(graph, SIM).workspace

    needed = workspace("DynamicGRUV2")
    assert needed > workspace("Relu") == 0
    assert workspace("Relu", "DynamicGRUV2", "Sigmoid") == needed


def test_description_has_no_bare_infinity(graph: Graph, add_node: AddNode) -> None:
    add_node(graph, "Muls", attributes={"value": float("inf")})
    (text,) = _texts(emit_kernels(graph, SIM), ".json")
    (description,) = json.loads(text, parse_constant=pytest.fail)
    assert description["attr"][0]["default_value"] == "inf"


def _texts(kernels: KernelSet, ending: str) -> list[str]:
    """Return texts of kernels, without the files of the project that they make up."""
    return [text for path, text in kernels.files.items() if path.endswith(ending) and "/" in path]


def _broken(kind: str) -> Node:
    """Return a node in a state that no pass may leave."""
    type_ = TensorType(F16, (2,))
    values = [Value(f"v{n}", type_) for n in range(3)]
    if kind == "operator":
        return Node("Nonsense", "bad", values[:1], values[2:])
    if kind == "missing":
        return Node("Add", "bad", [values[0], None], values[2:])
    return Node("Relu", "bad", values[:2] if kind == "operands" else values[:1], values[2:])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("operator", "no target operator is called 'Nonsense'"),
        ("engine", "Relu reaches kernel emission without an engine"),
        ("operands", "the operands of Relu differ from those that its row declares"),
        ("missing", "the operands of Add differ from those that its row declares"),
    ],
)
def test_nodes_that_a_pass_left_broken_are_reported(kind: str, message: str) -> None:
    graph = Graph("test", Phase.TYPED)
    node = _broken(kind)
    node.engine = None if kind == "engine" else Engine.AICORE
    graph.nodes.append(node)
    with pytest.raises(AtcError, match=message) as caught:
        emit_kernels(graph, SIM)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code.name == "broken-invariant"
    assert diagnostic.place is not None
    assert diagnostic.place.node_name == "bad"


def test_written_kernels_are_the_texts_and_leave_other_files_alone(
    graph: Graph, add_node: AddNode, tmp_path: Path
) -> None:
    add_node(graph, "Relu", [MAP], [MAP]).name = "层"
    kernels = emit_kernels(graph, SIM)
    folder = tmp_path / "new" / "kernels"
    (name,) = kernels.kernel_of.values()
    (folder / name).mkdir(parents=True)
    (folder / "mine.txt").write_text("mine")
    (folder / name / f"{name}.cpp").write_text("old")
    write_kernels(kernels.files, folder)
    write_kernels(kernels.files, folder)
    written = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert written.pop("mine.txt") == b"mine"
    texts = {**kernels.files, **host_headers()}
    assert written == {path: text.encode() for path, text in texts.items()}
    assert "host/kernel_operator.h" in written


def test_a_folder_that_cannot_be_made_is_reported(
    graph: Graph, add_node: AddNode, tmp_path: Path
) -> None:
    add_node(graph, "Relu")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(AtcError, match="cannot make the folder") as caught:
        write_kernels(emit_kernels(graph, SIM).files, tmp_path / "file")
    assert caught.value.diagnostics[0].code.name == "cannot-write-output"
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_file_that_cannot_be_written_is_reported(
    graph: Graph, add_node: AddNode, tmp_path: Path
) -> None:
    add_node(graph, "Relu")
    kernels = emit_kernels(graph, SIM)
    (tmp_path / next(iter(kernels.files))).mkdir(parents=True)
    with pytest.raises(AtcError) as caught:
        write_kernels(kernels.files, tmp_path)
    assert caught.value.diagnostics[0].code.name == "cannot-write-output"
