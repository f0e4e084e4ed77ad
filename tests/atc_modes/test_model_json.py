"""Modes 1 and 5: models as JSON."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from google.protobuf import text_format  # type: ignore[import-untyped]
from numpy.typing import NDArray

import atc_py
from atc_py.adapters.atc.modes.launch_slots import launch_slots
from atc_py.adapters.atc.modes.model_json import onnx_to_json, save_json, text_to_json
from atc_py.adapters.atc.modes.own_om import model_info, om_to_json
from atc_py.diag import AtcError, AtcFault
from atc_py.options.compile_options import CompileOptions
from atc_py.package.ge.protobuf_classes import model_class
from atc_py.pipeline.huawei import open_offline
from tests.atc_modes.conftest import COMMAND, small_model
from tests.pipeline.huawei.example_models import piped
from tests.pipeline.huawei.small_models import halves


def attributes(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the values of attributes by key."""
    return {row["key"]: row["value"] for row in rows}


def ops_of(text: str) -> list[dict[str, Any]]:
    """Return the ops of the one graph."""
    (graph,) = json.loads(text)["graph"]
    found: list[dict[str, Any]] = graph["op"]
    return found


def test_graph_has_the_name_that_atc_gave_it_whatever_the_file_is_called(
    om: Path, model: Path
) -> None:
    found = json.loads(om_to_json(om.rename("other.om")))
    assert (found["name"], found["graph"][0]["name"]) == ("small", "small_0")
    atc_py.convert(model, "ours.om", soc="Ascend310P3")
    assert json.loads(om_to_json(Path("ours.om")))["name"] == "ours"


def test_offline_model_has_the_attributes_that_tools_read(om: Path) -> None:
    found = json.loads(om_to_json(om))
    assert (found["name"], found["version"]) == ("small", 2)
    values = attributes(found["attr"])
    assert values["atc_cmdline"] == {"s": COMMAND.replace('"', '\\"')}
    assert values["soc_version"] == {"s": "Ascend310P3"}
    assert values["framework_type"] == {"s": "Onnx"}
    assert values["om_info_list"]["list"]["val_type"] == "VT_LIST_INT"
    assert len(values["om_info_list"]["list"]["i"]) == 5
    assert set(values) >= {"atc_version", "memory_size", "weight_size", "stream_num", "event_num"}


def test_graph_of_an_offline_model_is_connected(om: Path) -> None:
    ops = ops_of(om_to_json(om))
    by_name = {op["name"]: op for op in ops}
    assert len(by_name) == len(ops)
    assert [op.get("id", 0) for op in ops] == list(range(len(ops)))
    for op in ops:
        for text in filter(None, op.get("input", ())):
            name, _, index = text.rpartition(":")
            source = by_name[name]
            assert int(index) < len(source["output_desc"])
            assert op["name"] in source["dst_name"]
        slots, values = op.get("input", ()), attributes(op.get("attr", []))
        if slots:
            positions = values["_input_name_value"]["list"]["i"]
            assert sorted(positions) == list(range(len(slots)))
            names = values["_input_name_key"]["list"]["s"]
            assert names == sorted(names)
            assert len(op["input_desc"]) == len(op["is_input_const"]) == len(slots)
            assert len(op["src_name"]) == len(list(filter(None, slots)))
    assert json.loads(om_to_json(om))["graph"][0]["input"] == ["x:0"]


TWO = """
    <ir_version: 8, opset_import: ["" : 13]> net (float[1, 16, 8, 8] x) => (float[1, 16, 8, 8] y)
    <float[16, 16, 3, 3] w = {%s}> {
        c = Conv <pads = [1, 1, 1, 1]> (x, w) r = Relu (c) y = Conv <pads = [1, 1, 1, 1]> (r, w)
    }
"""


def test_product_lists_the_slots_that_it_does_not_use(tmp_path: Path) -> None:
    """A product alone has four; a fused launch has those of the fix pipe, where the SoC has one."""
    path, om = tmp_path / "net.onnx", tmp_path / "net.om"
    onnx.save(onnx.parser.parse_model(TWO % ", ".join(["0.1"] * 2304)), path)
    atc_py.convert(path, om, soc="Ascend310B4", precision_mode="force_fp16")
    fused, plain = (op for op in ops_of(om_to_json(om)) if op["type"] == "Conv2D")
    assert (len(fused["input"]), len(plain["input"])) == (13, 4)
    for op in (fused, plain):
        for text, desc in zip(op["input"], op["input_desc"], strict=True):
            assert (desc["layout"] == "FORMAT_RESERVED") is not bool(text)
            if not text:
                assert "dtype" not in desc
                assert attributes(desc["attr"])["format_for_int"] == {"i": 40}
    names = attributes(plain["attr"])["_input_name_key"]["list"]["s"]
    assert names == ["bias", "filter", "offset_w", "x"]
    assert attributes(fused["attr"])["_input_name_key"]["list"]["s"][2] == "__input10"


def test_sums_and_slopes_have_the_slots_of_the_fix_pipe(tmp_path: Path) -> None:
    slope = np.full((1, 1, 1), 0.3, np.float32)
    arrays: dict[str, NDArray[Any]] = {"w": halves(1, 16, 16, 3, 3), "s": slope, "t": slope}
    slots = {4: "other", 6: "s", 9: "t"}
    real = piped(tmp_path / "m.om", ["PRelu", "Add", "PRelu"], slots, arrays)
    with open_offline(real) as opened:
        description = opened.description
    found = launch_slots(description, description.nodes, description.nodes[0])
    assert len(found) == 13
    assert [at for at, tensor in enumerate(found) if tensor >= 0] == [0, 1, 4, 6, 9]


def test_ops_have_names_of_source_nodes_and_name_those_they_stand_for(om: Path) -> None:
    ops = {op["name"]: op for op in ops_of(om_to_json(om))}
    values = [attributes(op.get("attr", [])) for op in ops.values()]
    origins = [
        name for each in values for name in each.get("_datadump_original_op_names", {}).get(
            "list", {}
        ).get("s", [])
    ]  # fmt: skip
    assert {"Conv_0", "Relu_1", "Sum_2"} <= set(origins)
    assert ops["Node_Output"]["type"] == "NetOutput"


def test_launch_of_several_nodes_is_one_op_of_the_type_of_its_head(om: Path) -> None:
    fused = {op["name"]: op for op in ops_of(om_to_json(om))}["Conv_0Relu_1"]
    assert fused["type"] == "Conv2D"
    values = attributes(fused["attr"])
    assert values["_datadump_original_op_names"]["list"]["s"] == ["Conv_0", "Relu_1"]
    assert values["_datadump_original_op_types"]["list"]["s"] == ["Relu"]
    assert values["data_format"] == {"s": "NHWC"}
    assert values["dilations"]["list"]["i"] == [1, 1, 1, 1]
    assert not {"pads", "strides", "group_op_name"} & set(values)
    assert len(fused["output_desc"]) == 1


def test_tensors_have_stored_and_original_shapes(om: Path) -> None:
    conv = {op["name"]: op for op in ops_of(om_to_json(om))}["Conv_0Relu_1"]
    data, weights = conv["input_desc"][:2]
    assert (data["layout"], data["dtype"]) == ("NC1HWC0", "DT_FLOAT16")
    assert data["shape"]["dim"] == [1, 1, 8, 8, 16]
    origin = attributes(data["attr"])
    assert origin["origin_shape"]["list"]["i"] == [1, 3, 8, 8]
    assert origin["origin_format"] == {"s": "NCHW"}
    assert origin["format_for_int"] == {"i": 0x05000003}
    assert weights["layout"] == "FRACTAL_Z"
    assert conv["is_input_const"][:2] == [False, True]
    kinds = attributes(conv["attr"])
    assert kinds["dilations"] == {"list": {"i": [1, 1, 1, 1], "val_type": "VT_LIST_INT"}}


def test_json_of_an_offline_model_reads_back_as_the_message(om: Path) -> None:
    """What is shown is a model by ATC's own schema: every key is a field of its message."""

    def check(value: dict[str, Any], descriptor: Any) -> None:
        for key, part in value.items():
            field = descriptor.fields_by_name[key]
            for each in part if isinstance(part, list) else [part]:
                if isinstance(each, dict):
                    check(each, field.message_type)

    check(json.loads(om_to_json(om)), model_class().DESCRIPTOR)


def test_other_file_than_an_offline_model_is_e10041(model: Path) -> None:
    with pytest.raises(AtcError) as caught:
        om_to_json(model)
    assert caught.value.diagnostics[0].atc == AtcFault("E10041", ("small.onnx",))


def test_graph_of_an_onnx_model(model: Path) -> None:
    found = json.loads(onnx_to_json(model))
    assert [node["op_type"] for node in found["node"]] == ["Conv", "Relu", "ReduceSum"]
    assert found["initializer"][0]["dims"] == [4, 3, 3, 3]
    assert found["initializer"][0]["data_type"] == 1
    conv = found["node"][0]["attribute"][0]
    assert conv == {"name": "pads", "type": "INTS", "ints": [1, 1, 1, 1]}
    assert list(found) == sorted(found)


def test_raw_weights_are_escaped_and_read_back(model: Path) -> None:
    raw = onnx.load(model).graph.initializer[0].raw_data
    shown = json.loads(onnx_to_json(model))["initializer"][0]["raw_data"]
    back = shown.encode("latin-1").decode("unicode_escape").encode("latin-1")
    assert back == raw


def test_onnx_model_after_inference_has_target_operators_and_shapes(model: Path) -> None:
    ops = {op["name"]: op for op in ops_of(onnx_to_json(model, CompileOptions()))}
    assert ops["Conv_0"]["type"] == "Conv2D"
    (described,) = ops["Conv_0"]["output_desc"]
    assert described["shape"]["dim"] == [1, 4, 8, 8]
    assert described["dtype"] == 1  # ATC shows enums of this form by number


def test_other_file_than_an_onnx_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.onnx"
    path.write_bytes(b"\xff\xff")
    with pytest.raises(AtcError) as caught:
        onnx_to_json(path)
    assert caught.value.diagnostics[0].code.name == "not-an-onnx-model"


def test_text_of_a_model_becomes_json(tmp_path: Path) -> None:
    message = model_class()(name="m", version=1)
    op = message.graph.add(name="g").op.add(name="o", type="Relu", input=["x:0", "c:-1"])
    op.attr["N"].i = 2
    op.input_desc.add(dtype=1, layout="ND", size=8).shape.dim.extend([2, 3])
    path = tmp_path / "ge_proto_00000000_graph_1_Build.txt"
    path.write_text(text_format.MessageToString(message), encoding="utf-8")
    found = ops_of(text_to_json(path))
    assert found == [
        {
            "attr": [{"key": "N", "value": {"i": 2}}],
            "input": ["x:0", "c:-1"],
            "input_desc": [{"dtype": "DT_FLOAT", "layout": "ND", "shape": {"dim": [2, 3]}}],
            "name": "o",
            "type": "Relu",
        }
    ]


@pytest.mark.parametrize(
    ("name", "text", "code", "line"),
    [
        ("m.pbtxt", "", "E10001", None),
        ("m.txt", "name: 'x'\nnovelty: 1\n", "E10041", 2),
        ("m.txt", "graph {\n", "E10041", 1),
        ("m.txt", "graph { op { attr { value { " + "func { attr { value { " * 400, "E10041", None),
    ],
)
def test_text_of_something_else_is_refused(
    tmp_path: Path, name: str, text: str, code: str, line: int | None
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AtcError) as caught:
        text_to_json(path)
    (found,) = caught.value.diagnostics
    assert found.atc is not None
    assert found.atc.code == code
    assert line is None or (found.place is not None and found.place.line == line)


def test_json_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    old = os.umask(0)
    try:
        save_json("{}", path)
    finally:
        os.umask(old)
    assert path.read_text(encoding="utf-8") == "{}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_json_file_that_cannot_be_written_is_e13001(tmp_path: Path) -> None:
    with pytest.raises(AtcError) as caught:
        save_json("{}", tmp_path / "none" / "m.json")
    (found,) = caught.value.diagnostics
    assert found.atc is not None
    assert found.atc.code == "E13001"


def test_model_with_gears_has_a_graph_for_each_the_largest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = small_model()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    onnx.save(model, "g.onnx")
    atc_py.convert("g.onnx", "g.om", input_shape="x:-1,3,8,8", batch_sizes="1,4,2")
    graphs = json.loads(om_to_json(tmp_path / "g.om"))["graph"]
    assert [graph["name"] for graph in graphs] == ["g_0", "g_0_gear_0", "g_0_gear_2"]
    numbers = [attributes(graph["attr"])["dynamic_batch_size"]["list"]["i"] for graph in graphs]
    assert numbers == [[4], [1], [2]]
    batches = [graph["op"][0]["output_desc"][0]["shape"]["dim"][0] for graph in graphs]
    assert batches == [4, 1, 2]
    assert "modeldef_size[" in model_info(tmp_path / "g.om")[4]


def test_models_of_every_kind_have_a_connected_graph(tmp_path: Path) -> None:
    """Open dims, branches, several outputs: what an offline model can have at all."""
    for name, model in odd_models().items():
        onnx.save(model, tmp_path / f"{name}.onnx")
        atc_py.convert(tmp_path / f"{name}.onnx", tmp_path / f"{name}.om")
        ops = {op["name"]: op for op in ops_of(om_to_json(tmp_path / f"{name}.om"))}
        for op in ops.values():
            for text in filter(None, op.get("input", ())):
                source, _, index = text.rpartition(":")
                assert int(index) < len(ops[source]["output_desc"]), name


def odd_models() -> dict[str, onnx.ModelProto]:
    """Return models with forms that few networks have."""
    texts = {
        "open": "agraph (float[2, 3] x) => (int64[2, n] y) { y = NonZero(x) }",
        "same": "agraph (float[2] x) => (float[2] x2, float[2] y) {x2 = Identity(x) y = Relu(x) }",
        "pair": "agraph (float[4] x) => (float[2] a, float[2] b) { a, b = Split<axis=0>(x) }",
        "clip": "agraph (float[4] x, float m) => (float[4] y) { y = Clip(x, , m) }",
    }
    header = '<ir_version: 8, opset_import: ["" : 11]>'
    return {name: onnx.parser.parse_model(f"{header} {text}") for name, text in texts.items()}
