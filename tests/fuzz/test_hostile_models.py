"""Every class of hostile model by name: each ends in a result or in the refusal that it should."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper

from tests.fuzz.trial import try_model
from tests.onnx_graph.onnx_files import FLOAT, model

Damage = Callable[[onnx.ModelProto], None]

node = helper.make_node
NAMES = ("a\nb", "\x1b[2J\x1b[31mred", "nul\x00behind", "\u202eright to left", "\u2028", "*/ ${x}")


def sound() -> onnx.ModelProto:
    """Return a model that converts and runs: Conv, Relu, Reshape."""
    nodes = [
        node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"], name="relu"),
        node("Reshape", ["r", "s"], ["y"], name="reshape"),
    ]
    weights = {"w": np.ones((2, 3, 3, 3), np.float32), "s": np.array([1, -1])}
    return model(nodes, {"x": (FLOAT, [1, 3, 8, 8])}, ["y"], weights)


def outcome(data: bytes, folder: Path) -> tuple[str, ...]:
    """Return the codes that `convert` gives; what must not be fails the test."""
    path = folder / "model.onnx"
    path.write_bytes(data)
    found = try_model(path)
    assert found.failure == ""
    assert found.steps[1].command == "convert"
    return found.steps[1].codes


def test_sound_model_is_sound(tmp_path: Path) -> None:
    assert outcome(sound().SerializeToString(), tmp_path) == ()


def test_truncated_file_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    data = sound().SerializeToString()
    for end in range(0, len(data), 7):
        assert outcome(data[:end], tmp_path), end


def test_every_byte_may_be_flipped(tmp_path: Path) -> None:
    data = model([node("Relu", ["x"], ["y"])], {"x": (FLOAT, [2])}, ["y"]).SerializeToString()
    for at in range(len(data)):
        for mask in (1, 0x80, 0xFF):
            outcome(data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :], tmp_path)


def _missing_input(proto: onnx.ModelProto) -> None:
    proto.graph.node[1].input[0] = "nowhere"


def _no_inputs(proto: onnx.ModelProto) -> None:
    del proto.graph.node[0].input[:]


def _duplicate_output(proto: onnx.ModelProto) -> None:
    proto.graph.node[1].output[0] = "c"


def _cycle(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].input[0] = "y"


def _cycle_of_one(proto: onnx.ModelProto) -> None:
    proto.graph.node[1].input[0] = "r"


def _unknown_element(proto: onnx.ModelProto) -> None:
    proto.graph.input[0].type.tensor_type.elem_type = 99


def _negative_element(proto: onnx.ModelProto) -> None:
    proto.graph.initializer[0].data_type = -1


def _sequence_input(proto: onnx.ModelProto) -> None:
    proto.graph.input[0].type.sequence_type.elem_type.tensor_type.elem_type = FLOAT


def _attribute_of_wrong_type(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].attribute[0].CopyFrom(helper.make_attribute("pads", "text"))


def _attribute_of_no_type(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].attribute[0].type = AttributeProto.UNDEFINED


def _attribute_by_reference(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].attribute[0].ref_attr_name = "outer"


def _dim(value: int) -> Damage:
    def damage(proto: onnx.ModelProto) -> None:
        proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = value

    return damage


def _tensor_dim(value: int) -> Damage:
    def damage(proto: onnx.ModelProto) -> None:
        proto.graph.initializer[0].dims[0] = value

    return damage


def _short_data(proto: onnx.ModelProto) -> None:
    proto.graph.initializer[0].raw_data = b"1234"


def _reshape_to(*dims: int) -> Damage:
    def damage(proto: onnx.ModelProto) -> None:
        tensor = proto.graph.initializer[1]
        tensor.raw_data = np.array(dims).tobytes()
        tensor.dims[:] = [len(dims)]

    return damage


def _opset(version: int) -> Damage:
    def damage(proto: onnx.ModelProto) -> None:
        proto.opset_import[0].version = version

    return damage


def _two_opsets(proto: onnx.ModelProto) -> None:
    proto.opset_import.add(domain="ai.onnx", version=9)


def _no_opset(proto: onnx.ModelProto) -> None:
    del proto.opset_import[:]


def _empty_graph(proto: onnx.ModelProto) -> None:
    proto.graph.Clear()


def _no_graph(proto: onnx.ModelProto) -> None:
    proto.ClearField("graph")


def _no_outputs(proto: onnx.ModelProto) -> None:
    del proto.graph.output[:]


def _sparse(proto: onnx.ModelProto) -> None:
    sparse = proto.graph.sparse_initializer.add(dims=[2**40])
    sparse.values.name = "w2"


def _strings(proto: onnx.ModelProto) -> None:
    tensor = proto.graph.initializer[0]
    tensor.CopyFrom(TensorProto(name="w", data_type=TensorProto.STRING, dims=[1]))
    tensor.string_data.append(b"\xff")


def _training_only(proto: onnx.ModelProto) -> None:
    proto.training_info.add().algorithm.CopyFrom(proto.graph)
    proto.ClearField("graph")


def _function_only(proto: onnx.ModelProto) -> None:
    proto.functions.add(name="f", domain="own", node=proto.graph.node)
    proto.ClearField("graph")


CASES: dict[str, tuple[Damage, str]] = {
    "a node's input is missing": (_missing_input, "ATC3003"),
    "a node has no inputs": (_no_inputs, "ATC3003"),
    "two nodes make one value": (_duplicate_output, "ATC3003"),
    "nodes need each other": (_cycle, "ATC3003"),
    "a node needs itself": (_cycle_of_one, "ATC3003"),
    "an element type is unknown": (_unknown_element, "ATC2006"),
    "an element type is negative": (_negative_element, "ATC4002"),
    "an input is a sequence": (_sequence_input, "ATC3003"),
    "an attribute is of another type": (_attribute_of_wrong_type, "ATC3003"),
    "an attribute is of no type": (_attribute_of_no_type, "ATC3003"),
    "an attribute refers to a function's": (_attribute_by_reference, "ATC4012"),
    "a dim is negative, which leaves it open": (_dim(-1), "ATC3004"),
    "a tensor's dim is negative": (_tensor_dim(-2), "ATC2006"),
    "a tensor's dim is huge": (_tensor_dim(2**62), "ATC2006"),
    "a tensor has more data than its shape": (_tensor_dim(0), "ATC2006"),
    "a tensor's data is short": (_short_data, "ATC2006"),
    "a shape contradicts the data": (_reshape_to(7, 7), "ATC3003"),
    "a shape overflows": (_reshape_to(2**62, 2**62, 4), "ATC3003"),
    "a shape has two open dims": (_reshape_to(-1, -1), "ATC3003"),
    "opset 0": (_opset(0), "ATC3003"),
    "opset -1": (_opset(-1), "ATC3003"),
    "opset 99": (_opset(99), "ATC3002"),
    "opset 2^40": (_opset(2**40), "ATC3003"),
    "two imports of one domain": (_two_opsets, "ATC3003"),
    "no import": (_no_opset, "ATC2003"),
    "an empty graph": (_empty_graph, "ATC2003"),
    "no graph": (_no_graph, "ATC2003"),
    "no outputs": (_no_outputs, "ATC3003"),
    "a sparse tensor": (_sparse, "ATC3003"),
    "a tensor of strings": (_strings, "ATC3003"),
    "training only": (_training_only, "ATC2003"),
    "functions only": (_function_only, "ATC2003"),
}


@pytest.mark.parametrize("case", CASES)
def test_damaged_model_is_refused_with_its_code(case: str, tmp_path: Path) -> None:
    damage, code = CASES[case]
    proto = sound()
    damage(proto)
    assert code in outcome(proto.SerializePartialToString(), tmp_path)


@pytest.mark.parametrize("dim", [2**40, 2**62, 2**63 - 1])
def test_input_of_any_dim_is_refused_as_too_large(dim: int, tmp_path: Path) -> None:
    proto = sound()
    _dim(dim)(proto)
    assert "ATC2006" in outcome(proto.SerializeToString(), tmp_path)


def test_large_input_is_refused_where_it_is_fed(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    proto = model([node("Relu", ["x"], ["y"])], {"x": (FLOAT, [2**37])}, ["y"])
    path.write_bytes(proto.SerializeToString())
    ran = try_model(path).steps[-1]
    assert (ran.command, ran.codes) == ("run", ("ATC2040",))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["text", "json", "html", "sarif", "junit", "csv"])
def test_names_command_no_terminal_and_break_no_line(
    name: str, form: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from atc_py.cli.main import main

    nodes = [
        node("Relu", ["x"], [name], name=name),
        node("NoSuch" + name, [name], ["y"], name=name, **{name: name}),
    ]
    path = tmp_path / "model.onnx"
    path.write_bytes(model(nodes, {"x": (FLOAT, [2])}, ["y"]).SerializeToString())
    for command in (["check", str(path), "--format", form], ["convert", str(path)]):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert ended.value.code == 1
    said = "".join(capfd.readouterr())
    # What reads JSON escapes what it shows; control characters are none in it, either.
    unseen = {"\x1b", "\x00"} | ({"\u202e", "\u2028"} if form not in {"json", "sarif"} else set())
    assert not unseen & set(said)


def nested(depth: int) -> bytes:
    """Return nodes within branches of nodes, written by hand: protobuf makes only so many."""
    from atc_py.system.wire import bytes_field

    graph = bytes_field(1, bytes_field(1, b"x") + bytes_field(2, b"y") + bytes_field(4, b"Relu"))
    for _ in range(depth):
        branch = bytes_field(1, b"then_branch") + bytes_field(6, graph) + b"\xa0\x01\x05"
        inner = bytes_field(1, b"c") + bytes_field(4, b"If") + bytes_field(5, branch)
        graph = bytes_field(1, inner)
    opset = bytes_field(8, b"\x10\x0d")
    return b"\x08\x08" + bytes_field(7, graph + bytes_field(12, bytes_field(1, b"y"))) + opset


@pytest.mark.parametrize(
    ("depth", "code"), [(3, "ATC3003"), (30, "ATC3003"), (1000, "ATC2003"), (5000, "ATC2003")]
)
def test_nesting_is_bounded(depth: int, code: str, tmp_path: Path) -> None:
    assert code in outcome(nested(depth), tmp_path)


def test_names_of_a_million_characters_are_shown_in_part(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from atc_py.cli.main import main

    long = "n" * 1_000_000
    nodes = [node(long, ["x"], ["t"], name=long), node("Relu", ["t"], ["y"])]
    for each in nodes:
        each.attribute.add().CopyFrom(helper.make_attribute(long, 1))
    path = tmp_path / "model.onnx"
    path.write_bytes(model(nodes, {"x": (FLOAT, [2])}, ["y"]).SerializeToString())
    with pytest.raises(SystemExit):
        main(["check", str(path)])
    said = capfd.readouterr().out
    assert "characters)..." in said
    assert len(said) < 30_000
