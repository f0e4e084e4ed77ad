"""Files that are written after the page of the format, both tables and all partitions, read again."""

import json
import struct
import zipfile
from pathlib import Path

import pytest

from atc_py.diag import AtcError
from atc_py.package.foreign import is_huawei
from atc_py.package.ge.container import PARTITION_NAMES
from atc_py.package.ge.graph import GeEdge
from atc_py.package.ge.launches import launch_operators
from atc_py.package.ge.messages import GeFunction, GeTensor
from atc_py.package.ge.model import HuaweiFile, HuaweiModel, open_huawei
from atc_py.system.wire import bytes_field
from tests.package.ge import om_files
from tests.package.ge.om_files import om_file, small_model

OLD, NEW = 0x10000000, 0x20000000


def opened(tmp_path: Path, data: bytes) -> HuaweiFile:
    path = tmp_path / "net.om"
    path.write_bytes(data)
    return open_huawei(path)


def only_model(file: HuaweiFile) -> HuaweiModel:
    (model,) = file.models
    return model


@pytest.mark.parametrize(
    ("enumerated", "wide", "version"),
    [(False, False, OLD), (False, False, NEW), (True, True, NEW), (True, False, NEW)],
)
def test_small_model_is_read_whole(
    tmp_path: Path, *, enumerated: bool, wide: bool, version: int
) -> None:
    data = small_model(enumerated=enumerated, wide=wide, version=version)
    with opened(tmp_path, data) as file:
        model = only_model(file)
        assert file.header is not None
        assert file.header.version == version
        assert (file.header.name, file.header.platform_version) == ("net", "1.11.z.0")
        assert model.attributes.text("soc_version") == "Ascend310B4"
        assert [op.type for op in model.ops] == ["Data", "Const", "Const", "Conv2D", "NetOutput"]
        assert [op.name for op in model.launches] == ["convrelu"]
        assert [kernel.name for kernel in model.kernels] == ["te_fused_conv", "te_other"]
        assert [task.kind for task in model.tasks] == ["fusion start", "kernel", "end of graph"]
        assert model.tasks[1].kernel_name == "te_fused_conv"
        assert (model.interface is not None) is wide


def test_operands_have_their_own_offsets_where_some_are_absent(tmp_path: Path) -> None:
    with opened(tmp_path, small_model()) as file:
        (op,) = only_model(file).launches
        rows = [(row.name, row.edge, row.is_constant, row.offset) for row in op.operands()]
        assert rows == [
            ("x", GeEdge("x", 0), False, 0),
            ("filter", GeEdge("w", 0), True, 0),
            ("bias", GeEdge("b", 0), True, 512),
            ("offset_w", None, False, None),
        ]
        assert op.inputs[3].is_absent
        (result,) = op.outputs
        assert (result.dtype, result.dims, result.layout) == (
            "float16",
            (1, 1, 4, 4, 16),
            "NC1HWC0",
        )
        assert (result.origin_dims, result.origin_layout) == ((1, 16, 4, 4), "NCHW")
        assert (result.size, op.output_offsets) == (576, (1024,))


def test_attributes_are_decoded_by_kind(tmp_path: Path) -> None:
    with opened(tmp_path, small_model()) as file:
        attributes = only_model(file).launches[0].attributes
        assert attributes.texts("_datadump_original_op_names") == ("conv", "relu")
        assert attributes["dilations"] == (1, 1, 1, 1)
        assert attributes.number("tvm_blockdim") == 2
        assert attributes.text("tvm_blockdim", "other kind") == "other kind"
        assert "strides" not in attributes


def test_every_kind_of_attribute(tmp_path: Path) -> None:
    tensor = om_files.message("TensorDef", desc=om_files.tensor_desc(dims=(2,)), data=b"abcd")
    settings = om_files.message("NamedAttrs", name="aipp") + om_files.entries(
        "NamedAttrs", {"csc_switch": True}
    )
    values = {
        "flag": True,
        "count": -3,
        "rate": 0.5,
        "text": "é",
        "ints": [1, -2],
        "floats": [0.5, -1.0],
        "flags": [True, False],
        "texts": ["a", ""],
        "pairs": [[1, 2], [], [-1]],
        "nothing": b"",
        "tensor": om_files.member("t", tensor),
        "aipp": om_files.member("func", settings),
        "type": om_files.message("AttrDef", dt=1),
    }
    model = om_files.model_def([om_files.graph("g", [om_files.op("n", "Op", values)])])
    with opened(tmp_path, om_file([(0, model)])) as file:
        attributes = only_model(file).ops[0].attributes
        assert list(attributes) == list(values)
        plain = {name: attributes[name] for name in values if name not in {"tensor", "aipp"}}
        assert plain == {
            "flag": True,
            "count": -3,
            "rate": 0.5,
            "text": "é",
            "ints": (1, -2),
            "floats": (0.5, -1.0),
            "flags": (True, False),
            "texts": ("a", ""),
            "pairs": ((1, 2), (), (-1,)),
            "nothing": None,
            "type": 1,
        }
        constant, function = attributes["tensor"], attributes["aipp"]
        assert isinstance(constant, GeTensor)
        assert isinstance(function, GeFunction)
        assert constant.inline is not None
        assert bytes(only_model(file).data(constant.inline)) == b"abcd"
        assert (function.name, dict(function.attributes)) == ("aipp", {"csc_switch": True})


def test_constant_is_the_bytes_that_its_descriptor_names(tmp_path: Path) -> None:
    with opened(tmp_path, small_model()) as file:
        model = only_model(file)
        by_name = model.graphs[0].by_name
        found = model.constant(by_name["b"])
        assert found is not None
        tensor, span = found
        assert tensor.desc.dims == (16,)
        assert bytes(model.data(span)) == bytes(range(32))
        assert model.constant(by_name["convrelu"]) is None


def test_names_beyond_one_digit(tmp_path: Path) -> None:
    names = om_files.Enumerated(on=True)
    values = {f"name{number}": number for number in range(300)}
    ops = [om_files.op("n", "Op", values, names)]
    with opened(
        tmp_path, om_file([(0, om_files.model_def([om_files.graph("g", ops)], {}, names))])
    ) as file:
        assert dict(only_model(file).ops[0].attributes) == values


def test_names_of_later_models_may_be_numbers_of_the_first(tmp_path: Path) -> None:
    first, second = om_files.Enumerated(on=True), om_files.Enumerated(on=True)
    ops = [om_files.op("n", "Op", {"groups": 4}, first)]
    model = om_files.model_def([om_files.graph("g", ops)], {}, first)
    ops = [om_files.op("n", "Op", {"groups": 5}, second)]
    graph = om_files.graph("g", ops)
    second.names = [first.key("groups", is_text=False).decode()]
    later = om_files.model_def([graph], {}, second)
    with opened(tmp_path, om_file([(0, model)], [(0, later)])) as file:
        assert [dict(each.ops[0].attributes) for each in file.models] == [
            {"groups": 4},
            {"groups": 5},
        ]


def test_every_partition_has_a_name(tmp_path: Path) -> None:
    parts = [(kind, b"") for kind in PARTITION_NAMES if kind not in {7, 24}] + [(77, b"x")]
    with opened(tmp_path, om_file(parts)) as file:
        names = [part.name for part in only_model(file).partitions]
        assert names == [PARTITION_NAMES.get(kind, "type 77") for kind, _ in parts]


def test_encrypted_file_names_its_partitions_and_reads_none(tmp_path: Path) -> None:
    with opened(tmp_path, om_file([(0, b"\xff\xff"), (1, b"x")], encrypted=True)) as file:
        model = only_model(file)
        assert [part.name for part in model.partitions] == ["MODEL_DEF", "WEIGHTS_DATA"]
        assert model.definition is None
        assert (model.ops, model.tasks, model.kernels, model.interface) == ((), (), (), None)
        assert len(model.attributes) == 0


def test_bundle_holds_files(tmp_path: Path) -> None:
    bundle = om_file(
        [(25, struct.pack("<q", 8)), (24, small_model()), (24, small_model())], model_type=5
    )
    with opened(tmp_path, bundle) as file:
        assert file.kind == "bundle"
        assert [inner.models[0].launches[0].name for _, inner in file.embedded] == ["convrelu"] * 2
        assert len(file.all_models()) == 3


def test_flow_model_repeats_a_partition(tmp_path: Path) -> None:
    submodel = bytes_field(1, b"first") + bytes_field(2, b"NPU") + bytes_field(4, small_model())
    outer = om_files.model_def([om_files.graph("flow", [])])
    with opened(
        tmp_path, om_file([(0, outer), (6, b""), (7, submodel), (7, submodel)], model_type=3)
    ) as file:
        assert file.kind == "flow model"
        assert [name for name, _ in file.embedded] == ["first", "first"]


def test_file_inside_of_itself_ends(tmp_path: Path) -> None:
    data = small_model()
    for _ in range(6):
        data = om_file([(24, data)], model_type=5)
    with pytest.raises(
        AtcError, match="ATC5006: it has files within files, more than 4 levels deep"
    ):
        opened(tmp_path, data)


def test_model_of_unknown_shape(tmp_path: Path) -> None:
    ops = [om_files.op("x", "Data", output_desc=om_files.tensor_desc(dims=(-1, 3)))]
    model = om_files.model_def([om_files.graph("g", ops)])
    with opened(tmp_path, om_file([(0, model), (5, b"lib")], unknown=True)) as file:
        assert file.header is not None
        assert file.header.has_unknown_shapes
        assert only_model(file).ops[0].outputs[0].dims == (-1, 3)


def test_gears_are_read(tmp_path: Path) -> None:
    batches = om_files.block(2, struct.pack("<I3q", 3, 1, 2, 8))
    sizes = om_files.block(3, struct.pack("<III4q", 2, 2, 2, 224, 224, 448, 448))
    with opened(tmp_path, om_file([(8, batches + sizes)])) as file:
        interface = only_model(file).interface
        assert interface is not None
        assert interface.gears == {
            "dynamic batch size": ((1,), (2,), (8,)),
            "dynamic image size": ((224, 224), (448, 448)),
        }


def test_graphs_that_ops_run_come_in_order(tmp_path: Path) -> None:
    main = om_files.graph("main", [om_files.op("if", "If", subgraph_name=["a", "b"])])
    a = om_files.graph("a", [om_files.op("again", "Case", subgraph_name=["b"])])
    b = om_files.graph("b", [om_files.op("relu", "Relu", id=7)])
    with opened(tmp_path, om_file([(0, om_files.model_def([main, b, a]))])) as file:
        model = only_model(file)
        assert [graph.name for graph in model.run_graphs()] == ["main", "a", "b"]
        assert "relu" in [op.name for op in model.launches]


@pytest.mark.parametrize("folder", ["", "net/"])
def test_om2_archive(tmp_path: Path, folder: str) -> None:
    row = {"name": "x", "data_type": "DT_FLOAT", "format": "NCHW", "shape": [1, 3], "size": 12}
    meta = {"name": "g1", "inputs": [row], "outputs": [], "work_size": 2048}
    path = tmp_path / "net.om2"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        manifest = {"om2_version": "0", "model_num": 1, "atc_command": "atc --model=net.onnx"}
        archive.writestr(folder + "manifest.json", json.dumps(manifest))
        archive.writestr(folder + "data/model_0/model_meta.json", json.dumps(meta))
        archive.writestr(folder + "data/model_0/debug/op_attr.json", json.dumps({"op": {}}))
        archive.writestr(folder + "data/constants/constant_0", bytes(16))
    assert is_huawei(path)
    with open_huawei(path) as file:
        assert file.kind == "om2 archive"
        assert file.om2 is not None
        assert (file.om2.version, file.om2.command_line) == ("0", "atc --model=net.onnx")
        (model,) = file.om2.models
        assert (model.name, model.workspace, list(model.ops)) == ("g1", 2048, ["op"])
        assert model.interface.inputs[0].dtype == "float32"
        assert file.om2.nbytes("data/constants/") == 16


def test_kind_of_file_is_recognized(tmp_path: Path) -> None:
    path = tmp_path / "net.om"
    path.write_bytes(small_model())
    assert is_huawei(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other", b"")
    assert not is_huawei(path)
    assert not is_huawei(tmp_path)
    assert not is_huawei(tmp_path / "missing")


@pytest.mark.parametrize(
    ("kind", "nodes", "types", "operators"),
    [
        ("Conv2D", "conv relu", "Relu", "Conv2D Relu"),
        ("Conv2D", "conv relu", "Aipp Relu", "Conv2D Aipp Relu"),
        ("Conv2D", "conv relu", "Aipp TransData Relu", "Conv2D Aipp TransData Relu"),
        ("AutomaticBufferFusionOp", "relu", "Aipp Relu", "Aipp Relu"),
        ("MatMulV2", "product div erf add mul half", "GeluV2", "MatMulV2 GeluV2"),
        ("DepthwiseConv2D", "pool", "Mul", "DepthwiseConv2D Mul"),
        ("MatMulV2", "product add", "MatMul Add", "MatMul Add"),
        ("LayerNorm", "mean sub pow sqrt", "", "LayerNorm"),
    ],
)
def test_launch_has_operators_that_stand_for_no_node(
    tmp_path: Path, kind: str, nodes: str, types: str, operators: str
) -> None:
    names = {"_datadump_original_op_names": nodes.split()}
    listed = {"_datadump_original_op_types": types.split()} if types else {}
    model = om_files.model_def([om_files.graph("net", [om_files.op("op", kind, names | listed)])])
    with opened(tmp_path, om_file([(0, model)])) as file:
        (op,) = only_model(file).ops
        assert launch_operators(op) == tuple(operators.split())
