"""ATC's finer controls of precision: how their files are read, and what they do to nodes."""

import json
from pathlib import Path

import numpy as np
import pytest

from atc_py.diag import AtcError, Code
from atc_py.diag.codes import (
    BAD_CONTROL_FILE,
    BAD_OPTION,
    FILE_NOT_FOUND,
    FILE_NOT_TEXT,
    KEPT_NARROWER,
    NO_16_BIT_KERNEL,
    NO_BFLOAT16,
    NO_KERNEL,
    NOT_IN_MODEL,
    OPTIONS_EXCLUDE,
)
from atc_py.ir import Engine, Graph
from atc_py.ir.parser import parse_graph
from atc_py.onnx_graph.source import SourceModel, SourceNode, SourceTensor
from atc_py.options.compile_options import PrecisionMode, PrecisionOptions
from atc_py.passes.base import PassContext
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.passes.precision.control_files import read_controls
from atc_py.passes.precision.controls import Controls, Custom, ModelNames, NodeSettings, check_soc
from atc_py.passes.precision.fold_constant_casts import FoldConstantCastsPass
from atc_py.passes.precision.mix_lists import MixList
from atc_py.target import SocFamily, find_soc
from atc_py.tensor.dtypes import DType

F16, BF16, F32 = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32

NET = """
graph @g phase lowered {
  input %x : float32[2,2] ND
  const %w : float32[2,2] ND = dense [100000.0, 1.0, 2.0, 3.0]
  %m = MatMulV2(%x, %w) : float32[2,2] ND from [0 "product" MatMul]
  %r = Relu(%m) : float32[2,2] ND from [1 "relu" Relu]
  %s = Add(%r, %r) : float32[2,2] ND from [2 "sum" Add]
  output %s
}
"""
FILE_NODES = [("product", ["m"]), ("relu", ["r"]), ("sum", ["s"]), ("folded", ["f"])]


def names() -> ModelNames:
    """Return the names of NET; one of the file's nodes was folded."""
    nodes = tuple(node_view(name, op) for name, op in (("product", "MatMul"), ("relu", "Relu")))
    x = SourceTensor("x", "float32", (2, 2))
    view = SourceModel(Path("net.onnx"), "g", {"": 13}, (x,), (), nodes, 4)
    return ModelNames.of(view, FILE_NODES, ["s"])


def node_view(name: str, op: str) -> SourceNode:
    """Return a node as folding leaves it."""
    return SourceNode(0, name, op, "", 13, 13, (), ())


def read(options: PrecisionOptions, mode: str = "force_fp16") -> Controls:
    """Return the controls that `options` give for NET."""
    return read_controls(options, PrecisionMode(mode), names())


def compiled(
    controls: Controls, mode: str = "force_fp16", soc: str = "sim", product: str = "MatMulV2"
) -> tuple[Graph, PassContext]:
    """Return NET, with another operator as its product, after the precision pass."""
    graph = parse_graph(NET.replace("MatMulV2", product))
    context = PassContext(find_soc(soc), PrecisionMode(mode), "model.onnx", controls=controls)
    AssignPrecisionPass().run(graph, context)
    graph.sort()
    return graph, context


def results(graph: Graph) -> dict[str, DType]:
    """Return the dtype of each node's result by the name of its origin."""
    return {n.origins[0].name: n.output.type.dtype for n in graph.nodes if n.op != "Cast"}


def fault(options: PrecisionOptions, code: Code, mode: str = "force_fp16") -> str:
    """Return the message and help of the one finding about `options`."""
    with pytest.raises(AtcError) as caught:
        read(options, mode)
    (found,) = caught.value.diagnostics
    assert found.code is code
    return f"{found.place}: {found.message}; {found.help}"


def written(folder: Path, text: str) -> Path:
    """Return a file with `text`."""
    path = folder / "controls.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("line", ["relu", "OpType::Relu", "  relu  \n\n# a comment"])
def test_kept_node_keeps_the_dtypes_of_the_model(tmp_path: Path, line: str) -> None:
    controls = read(PrecisionOptions(keep_dtype=written(tmp_path, line)))
    graph, context = compiled(controls)
    assert results(graph) == {"product": F16, "relu": F32, "sum": F16}
    rules = {name: each.rule for name, each in context.decisions.nodes.items()}
    assert [name for name, rule in rules.items() if rule.startswith("keep-dtype")] == ["Relu:r"]


def test_kept_type_is_a_target_operator_or_one_of_onnx(tmp_path: Path) -> None:
    text = "OpType::MatMul\nOpType::MaxPoolV3"
    controls = read(PrecisionOptions(keep_dtype=written(tmp_path, text)))
    assert results(compiled(controls)[0])["product"] is F32


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend610", "Ascend910B"])
def test_kept_node_without_a_kernel_becomes_float16_with_a_warning(soc: str) -> None:
    controls = Controls(keep=NodeSettings({"product": True, "relu": True}))
    graph, context = compiled(controls, soc=soc, product="BatchMatMulV2")
    assert results(graph) == {"product": F16, "relu": F32, "sum": F16}
    (found,) = context.sink.diagnostics
    assert found.code is KEPT_NARROWER
    assert found.place is not None
    assert found.place.node_name == "product"
    assert "keep-dtype: float16" in found.message


def test_keep_dtype_narrows_nothing_where_the_mode_keeps_all() -> None:
    controls = Controls(keep=NodeSettings({"product": True}))
    with pytest.raises(AtcError) as caught:
        compiled(controls, "must_keep_origin_dtype", "Ascend310", "BatchMatMulV2")
    (found,) = caught.value.diagnostics
    assert found.code is NO_KERNEL


def test_node_that_was_folded_may_be_named(tmp_path: Path) -> None:
    controls = read(PrecisionOptions(keep_dtype=written(tmp_path, "folded")))
    assert controls.keep == NodeSettings({"folded": True})


def test_name_that_no_node_has_comes_with_the_nearest(tmp_path: Path) -> None:
    text = fault(PrecisionOptions(keep_dtype=written(tmp_path, "relu\nprodukt")), NOT_IN_MODEL)
    assert ":2" in text
    assert "no node is called 'produkt'" in text
    assert "'product'" in text


def test_operator_that_nothing_has_comes_with_the_nearest(tmp_path: Path) -> None:
    text = fault(PrecisionOptions(keep_dtype=written(tmp_path, "OpType::Rellu")), NOT_IN_MODEL)
    assert "'Relu'" in text


def test_missing_file_is_named(tmp_path: Path) -> None:
    assert "nothing.cfg" in fault(
        PrecisionOptions(keep_dtype=tmp_path / "nothing.cfg"), FILE_NOT_FOUND
    )
    fault(PrecisionOptions(keep_dtype=tmp_path), FILE_NOT_FOUND)


def test_bytes_that_are_not_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "keep.cfg"
    path.write_bytes(b"\xff\xfe\x00rel")
    assert "UTF-8" in fault(PrecisionOptions(keep_dtype=path), FILE_NOT_TEXT)


@pytest.mark.parametrize("head", ["relu::", "OpType::Relu:"])
def test_customised_dtypes_are_taken(tmp_path: Path, head: str) -> None:
    text = f"{head}InputDtype:float32,OutputDtype:float32"
    controls = read(PrecisionOptions(customize_dtypes=written(tmp_path, text)))
    assert results(compiled(controls)[0]) == {"product": F16, "relu": F32, "sum": F16}


def test_a_nodes_own_dtypes_come_before_its_operators(tmp_path: Path) -> None:
    text = "OpType::Relu:InputDtype:float16\nrelu::InputDtype:float32"
    controls = read(PrecisionOptions(customize_dtypes=written(tmp_path, text)))
    assert results(compiled(controls)[0])["relu"] is F32


def test_customised_dtypes_come_before_keep_dtype() -> None:
    controls = Controls(
        keep=NodeSettings({"relu": True}), custom=NodeSettings({"relu": Custom((F16,))})
    )
    graph, _ = compiled(controls, "must_keep_origin_dtype")
    assert results(graph) == {"product": F32, "relu": F16, "sum": F32}


@pytest.mark.parametrize("custom", [Custom((BF16,)), Custom((DType.INT8,)), Custom((F16,), (F32,))])
def test_customised_dtypes_without_a_kernel_are_refused(custom: Custom) -> None:
    with pytest.raises(AtcError) as caught:
        compiled(Controls(custom=NodeSettings({"relu": custom})))
    (found,) = caught.value.diagnostics
    assert found.code is NO_KERNEL
    assert "customize-dtypes" in found.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("relu InputDtype:float16", "between a name"),
        ("relu::float16", "before 'float16'"),
        ("relu::Input:float16", "expected `InputDtype:`"),
        ("relu::InputDtype:float17", "unknown dtype 'float17'"),
    ],
)
def test_malformed_customised_dtypes_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    assert message in fault(PrecisionOptions(customize_dtypes=path), BAD_CONTROL_FILE)


def mixlist(folder: Path, **lists: dict[str, list[str]]) -> PrecisionOptions:
    """Return a --modify-mixlist file."""
    document = {f"{name}-list": moves for name, moves in lists.items()}
    return PrecisionOptions(modify_mixlist=written(folder, json.dumps(document)))


def test_operators_move_between_the_lists(tmp_path: Path) -> None:
    options = mixlist(
        tmp_path,
        white={"to-remove": ["MatMulV2", "Conv2D"], "to-add": ["Add"]},
        black={"to-add": ["Relu", "MatMulV2"]},
    )
    controls = read(options, "allow_mix_precision")
    ops = ("MatMulV2", "Conv2D", "Add", "Relu")
    assert [controls.list_of(op, SocFamily.SIM) for op in ops] == [
        MixList.BLACK,
        MixList.GRAY,
        MixList.WHITE,
        MixList.BLACK,
    ]
    graph, _ = compiled(controls, "allow_mix_precision")
    assert results(graph) == {"product": F32, "relu": F32, "sum": F16}


def moved(folder: Path, op: str, family: SocFamily, **lists: dict[str, list[str]]) -> MixList:
    """Return the list of an operator after the moves of a file."""
    return read(mixlist(folder, **lists), "allow_mix_precision").list_of(op, family)


def test_gray_list_takes_an_operator_that_the_file_removes_from_another(tmp_path: Path) -> None:
    """Source: the fusion engine of CANN (2026), where the gray list is a third key of the file.

    Log is black on A2, MatMulV2 white. What is added to the gray list alone stays where it is.
    """
    a2, log, product = SocFamily.ASCEND910B, ["Log"], ["MatMulV2"]
    pair = {"gray": {"to-add": log}, "black": {"to-remove": log}}
    assert moved(tmp_path, "Log", a2, **pair) is MixList.GRAY
    assert moved(tmp_path, "Log", a2, gray={"to-add": log}) is MixList.BLACK
    pair = {"gray": {"to-remove": ["Relu"]}, "white": {"to-add": ["Relu"]}}
    assert moved(tmp_path, "Relu", a2, **pair) is MixList.WHITE
    pair = {"white": {"to-remove": product}, "black": {"to-add": product}}
    assert moved(tmp_path, "MatMulV2", a2, **pair) is MixList.BLACK


def test_removal_from_a_list_that_the_operator_is_not_on_changes_nothing(tmp_path: Path) -> None:
    """Log is black on A2 and gray on Ascend310P."""
    for family, there in ((SocFamily.ASCEND910B, "black"), (SocFamily.ASCEND310P, "gray")):
        assert moved(tmp_path, "Log", family, white={"to-remove": ["Log"]}).value == there


@pytest.mark.parametrize(
    "lists",
    [
        {"white": {"to-add": ["Add"]}, "black": {"to-add": ["Add"]}},
        {"white": {"to-remove": ["Add"]}, "black": {"to-remove": ["Add"]}},
        {"white": {"to-add": ["Add"], "to-remove": ["Add"]}},
        {"gray": {"to-add": ["Add"]}, "white": {"to-add": ["Add"]}},
        {"gray": {"to-remove": ["Add"]}},
        {"gray": {"to-add": ["Add"], "to-remove": ["Add"]}},
    ],
)
def test_moves_that_contradict_each_other_are_refused(
    tmp_path: Path, lists: dict[str, dict[str, list[str]]]
) -> None:
    """Source: the moves of one operator that the fusion engine of CANN (2026) accepts together."""
    text = fault(mixlist(tmp_path, **lists), BAD_CONTROL_FILE, "allow_mix_precision")
    assert "the moves of Add contradict each other" in text


def test_black_operator_with_float16_alone_is_raised_on_the_ai_cpu() -> None:
    """Check that force_fp32 leaves an operator of float16 alone in it, but for the black list."""
    text = """
graph @g phase lowered {
  input %x : float16[1,1,4,4] ND
  %y = MaxPoolV3(%x) {ksize=[1,1,2,2], strides=[1,1,2,2]} : float16[1,1,2,2] ND from [0 "p" MaxPool]
  output %y
}
"""
    found = {}
    for place in (MixList.GRAY, MixList.BLACK):
        graph, mode = parse_graph(text), PrecisionMode.FORCE_FP32
        controls = Controls(lists={"MaxPoolV3": place})
        context = PassContext(find_soc("sim"), mode, "model.onnx", controls=controls)
        AssignPrecisionPass().run(graph, context)
        (node,) = [node for node in graph.nodes if node.op == "MaxPoolV3"]
        found[place] = (node.output.type.dtype, node.engine)
    assert found == {
        MixList.GRAY: (F16, Engine.AICORE),
        MixList.BLACK: (F32, Engine.AICPU),
    }


def test_white_operator_without_a_16_bit_kernel_warns_and_keeps() -> None:
    controls = Controls(lists={"Add": MixList.WHITE, "MatMulV2": MixList.GRAY})
    # A device without bfloat16 has no such kernels; the driver would have refused it.
    graph, context = compiled(controls, "allow_mix_precision_bf16")
    (found,) = context.sink.diagnostics
    assert found.code is NO_16_BIT_KERNEL
    assert found.place is not None
    assert found.place.node_name == "sum"
    assert results(graph)["sum"] is F32


def test_mixlist_goes_with_the_mixed_modes_alone(tmp_path: Path) -> None:
    text = fault(mixlist(tmp_path, white={"to-add": ["Add"]}), OPTIONS_EXCLUDE)
    assert "no effect with force_fp16" in text


def test_mixlist_of_an_unknown_operator_is_refused(tmp_path: Path) -> None:
    options = mixlist(tmp_path, white={"to-add": ["MatMulV3"]})
    assert "'MatMulV2'" in fault(options, NOT_IN_MODEL, "allow_mix_precision")


@pytest.mark.parametrize(
    "text",
    ["[]", "{", '{"white": {}}', '{"white-list": {"add": []}}', '{"white-list": {"to-add": "x"}}'],
)
def test_malformed_mixlist_is_refused(tmp_path: Path, text: str) -> None:
    options = PrecisionOptions(modify_mixlist=written(tmp_path, text))
    fault(options, BAD_CONTROL_FILE, "allow_mix_precision")


@pytest.mark.parametrize(
    ("text", "nodes", "types"),
    [
        ("Relu=high_precision", {}, {"Relu": "high_precision"}),
        (
            "[ByOpType]\nAdd = keep_fp16\n[ByNodeName]\nrelu=high_performance",
            {"relu": "high_performance"},
            {"Add": "keep_fp16"},
        ),
    ],
)
def test_implementation_modes_are_read(
    tmp_path: Path, text: str, nodes: dict[str, str], types: dict[str, str]
) -> None:
    controls = read(PrecisionOptions(op_precision_mode=written(tmp_path, text)))
    assert controls == Controls(implementations=NodeSettings(nodes, types))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Relu", BAD_CONTROL_FILE),
        ("Relu=fast", BAD_CONTROL_FILE),
        ("[ByName]\nrelu=high_precision", BAD_CONTROL_FILE),
        ("relu=high_precision", NOT_IN_MODEL),
        ("[ByNodeName]\nRelu=high_precision", NOT_IN_MODEL),
    ],
)
def test_implementation_modes_with_a_fault_are_refused(
    tmp_path: Path, text: str, code: Code
) -> None:
    fault(PrecisionOptions(op_precision_mode=written(tmp_path, text)), code)


def test_implementation_modes_of_operators_are_read_from_text() -> None:
    listed = " Relu = high_precision; Add=keep_fp16;"
    types = {"Relu": "high_precision", "Add": "keep_fp16"}
    assert read(PrecisionOptions(implementations=listed)) == Controls(
        implementations=NodeSettings({}, types)
    )


@pytest.mark.parametrize("text", ["Relu", "Relu=fast", "=high_precision"])
def test_text_of_implementation_modes_with_a_fault_is_refused(text: str) -> None:
    fault(PrecisionOptions(implementations=text), BAD_OPTION)


def test_input_is_fed_as_float16() -> None:
    controls = read(PrecisionOptions(input_fp16_nodes="x"))
    graph, _ = compiled(controls)
    assert graph.inputs[0].type.dtype is F16
    product = next(node for node in graph.nodes if node.op == "MatMulV2")
    assert product.inputs[0] is graph.inputs[0]


def test_input_that_the_model_lacks_is_refused() -> None:
    assert "'x'" in fault(PrecisionOptions(input_fp16_nodes="x;y"), NOT_IN_MODEL)


@pytest.mark.parametrize("text", ["FP16", "sum:0:FP16", "s:0:fp16"])
def test_output_has_the_dtype_that_was_asked_for(text: str) -> None:
    graph, _ = compiled(read(PrecisionOptions(output_type=text)))
    assert graph.outputs[0].type.dtype is F16
    assert graph.outputs[0].producer is not None
    assert graph.outputs[0].producer.op == "Add"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("FP17", BAD_OPTION),
        ("sum:FP16", BAD_OPTION),
        ("sum:0:half", BAD_OPTION),
        ("summ:0:FP16", NOT_IN_MODEL),
        ("sum:1:FP16", NOT_IN_MODEL),
        ("relu:0:FP16", NOT_IN_MODEL),
    ],
)
def test_output_type_with_a_fault_is_refused(text: str, code: Code) -> None:
    fault(PrecisionOptions(output_type=text), code)


@pytest.mark.parametrize(("clip", "largest"), [(True, 65504.0), (False, float("inf"))])
def test_weights_are_clipped_unless_the_option_says_not_to(clip: bool, largest: float) -> None:
    graph, context = compiled(read(PrecisionOptions(is_weight_clip=clip)))
    FoldConstantCastsPass().run(graph, context)
    product = next(node for node in graph.nodes if node.op == "MatMulV2")
    weights = product.inputs[1]
    assert weights is not None
    assert weights.const is not None
    assert weights.const.numpy().max() == np.float16(largest)


@pytest.mark.parametrize("mode", ["allow_mix_precision_bf16", "allow_fp32_to_bf16"])
def test_bfloat16_mode_needs_a_soc_that_has_it(mode: str) -> None:
    check_soc(PrecisionMode(mode), find_soc("Ascend910B3"))
    with pytest.raises(AtcError) as caught:
        check_soc(PrecisionMode(mode), find_soc("Ascend310P3"))
    (found,) = caught.value.diagnostics
    assert found.code is NO_BFLOAT16
    assert found.help is not None
    assert "Ascend910B3" in found.help


def test_every_cast_has_its_reason() -> None:
    graph, context = compiled(Controls())
    record = context.decisions.as_json(graph)
    casts = record["casts"]
    assert isinstance(casts, list)
    reasons = [each["reason"] for each in casts]
    assert reasons[0].endswith("takes float16 on aicore: force_fp16: floats become float16")
    assert reasons[-1] == "output s is float32: the model's own dtype"
    assert "the model's own" not in reasons
