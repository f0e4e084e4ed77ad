"""The text form: what is printed, what parsing gives, docs/ir.md's example."""

import re
from pathlib import Path

import numpy as np
import pytest

from atc_py.ir import (
    CastConst,
    ConstData,
    DeferredConst,
    DenseConst,
    Engine,
    Graph,
    OpaqueConst,
    Origin,
    Phase,
    SplatConst,
    TensorType,
)
from atc_py.ir.parser import parse_graph
from atc_py.ir.printer import DENSE_LIMIT, print_graph
from atc_py.ir.verifier import Rules, verify_graph
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.storage import Storage
from tests.failures import in_one_item

DOCS = Path(__file__).resolve().parents[2] / "docs" / "ir.md"

T = TensorType(DType.FLOAT32, (1, 3, 4, 4), Format.NCHW)

NETWORK = """\
graph @"light resnet" phase typed {
  input %x : float32[1,3,224,224] NCHW
  const %w : float32[64,3,7,7] ND = splat 0.02
  const %b : float32[2] ND = dense [0.5, -1.0]
  const %big : float16[64,3,7,7] ND = opaque "conv-bn fold of conv1_w"
  %y = Conv2D(%x, %w, _) {pads=[3,3,3,3], strides=[1,1,2,2]} : float16[1,64,112,112] NCHW\
  engine=aicore  name="first"  from [0 "conv1" Conv, 1 "" BatchNormalization]
  %a, %"b/0" = SplitVD(%y) {num_split=2} : float16[1,32,112,112] NCHW, float16[1,32,112,112] NCHW
  %z = "odd op"(%b, %big) {"a b"=true, dst_type=bfloat16, e=[], f=1.0, m="x\\"y"} : int8[] ND
  %0 = Nothing() : bool[0,2] FRACTAL_NZ
  output %a as "prob"
  output %x as "x"
}
"""


def printed_const(data: ConstData) -> str:
    """Return the text after `=` in the line of a constant with that data."""
    graph = Graph()
    graph.add_output(graph.constant("c", data))
    line = print_graph(graph).splitlines()[1]
    return line.split(" = ", 1)[1]


def parsed_const(type_: str, data: str) -> ConstData:
    """Return the data of a constant written like that."""
    graph = parse_graph(f"graph @g phase lowered {{ const %c : {type_} = {data} output %c }}")
    const = graph.outputs[0].const
    assert const is not None
    return const


def test_network_prints_as_it_was_written() -> None:
    assert print_graph(parse_graph(NETWORK)) == NETWORK


def test_network_is_parsed_into_its_parts() -> None:
    graph = parse_graph(NETWORK)
    conv, split, odd, nothing = graph.nodes
    assert (graph.name, graph.phase) == ("light resnet", Phase.TYPED)
    assert [value.name for value in graph.inputs] == ["x"]
    assert conv.inputs[0] is graph.inputs[0]
    assert conv.inputs[2] is None
    assert graph.inputs[0].uses == ((conv, 0), (graph.result, 1))
    assert (conv.name, conv.engine) == ("first", Engine.AICORE)
    assert conv.origins == (Origin(0, "conv1", "Conv"), Origin(1, "", "BatchNormalization"))
    assert conv.attributes == {"pads": (3, 3, 3, 3), "strides": (1, 1, 2, 2)}
    assert (split.name, split.engine, split.origins) == ("SplitVD:a", None, ())
    assert split.outputs[1].name == "b/0"
    assert split.outputs[1].producer is split
    assert odd.op == "odd op"
    assert odd.attributes == {
        "a b": True,
        "dst_type": DType.BFLOAT16,
        "e": (),
        "f": 1.0,
        "m": 'x"y',
    }
    assert isinstance(odd.attributes["f"], float)
    assert nothing.output.type == TensorType(DType.BOOL, (0, 2), Format.FRACTAL_NZ)
    assert graph.outputs == (split.outputs[0], graph.inputs[0])
    assert graph.output_names == ["prob", "x"]


@pytest.mark.parametrize(
    ("text", "storage"),
    [
        ("float16[1,64,56,56] NCHW", None),
        ("float16[1,64,56,56] NCHW@NC1HWC0", Storage(Format.NC1HWC0)),
        ("float16[64,32,3,3] NCHW@FRACTAL_Z", Storage(Format.FRACTAL_Z)),
        ("float16[64,32,3,3] NCHW@FRACTAL_Z(2)", Storage(Format.FRACTAL_Z, 2)),
        ("float32[1,64,56,56] NCHW@NC1HWC0(C0=8)", Storage(Format.NC1HWC0, c0=8)),
        ("float32[64,32,3,3] NCHW@FRACTAL_Z(2,C0=8)", Storage(Format.FRACTAL_Z, 2, 8)),
        ("int8[64,1,3,3] NCHW@C1HWNCoC0(64)", Storage(Format.C1HWNCOC0, 64)),
        ("float16[4,?,9] ND@FRACTAL_NZ", Storage(Format.FRACTAL_NZ)),
    ],
)
def test_storage_follows_the_format(text: str, storage: Storage | None) -> None:
    whole = f"graph @g phase lowered {{\n  input %x : {text}\n  input %y : int8[] ND\n}}\n"
    graph = parse_graph(whole)
    assert graph.inputs[0].type.storage == storage
    assert print_graph(graph) == whole


def test_one_group_is_not_written() -> None:
    graph = parse_graph("graph @g phase lowered { input %x : int8[1,1,1,1] NCHW @FRACTAL_Z ( 1 ) }")
    assert graph.inputs[0].type.storage == Storage(Format.FRACTAL_Z)


def test_parsed_names_are_taken() -> None:
    graph = parse_graph(NETWORK)
    assert graph.fresh_name("w") == "w.1"
    assert graph.fresh_name("SplitVD:a") == "SplitVD:a.1"
    assert graph.fresh_name("first") == "first.1"


def test_parser_needs_no_line_breaks_and_skips_comments() -> None:
    text = "".join(line + " # it } says\n" for line in NETWORK.splitlines())
    assert print_graph(parse_graph("# first\r\n\n" + text)) == NETWORK
    assert print_graph(parse_graph(NETWORK.replace("\n", "\t"))) == NETWORK


def test_statements_may_be_mixed_and_an_output_needs_no_name() -> None:
    graph = parse_graph(
        "graph @g phase lowered {\n"
        "%c=K():int8[]ND output %c input %x:int8[]ND %y=L(%x):int8[]ND output %y }"
    )
    assert graph.output_names == ["c", "y"]
    assert [node.op for node in graph.nodes] == ["K", "L"]


def test_words_of_the_grammar_can_be_names() -> None:
    text = """\
graph @graph phase lowered {
  input %input : int8[] ND
  %name = from(%input) {engine=1, inf=inf, nan=nan, true=false} : int8[] ND
  %_ = output(%name, _) : int8[] ND  from [0 "phase" const]
  output %_ as "as"
}
"""
    graph = parse_graph(text)
    assert print_graph(graph) == text
    assert graph.nodes[1].inputs == (graph.nodes[0].output, None)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x", "x"),
        ("0", "0"),
        ("a.1_b", "a.1_b"),
        (".1", '".1"'),
        ("gpu_0/data_0", '"gpu_0/data_0"'),
        ("", '""'),
        ('"\\', '"\\"\\\\"'),
        ("卷积", '"卷积"'),
        ("a\nb\u2028\ud800", '"a\\nb\\u2028\\ud800"'),
        ("é\x7f", '"\\u00e9\\u007f"'),
    ],
)
def test_name_is_quoted_where_it_must_be(name: str, text: str) -> None:
    graph = Graph(name)
    graph.add_input(name, T)
    found = print_graph(graph)
    assert found.splitlines()[:2] == [
        f"graph @{text} phase lowered {{",
        f"  input %{text} : float32[1,3,4,4] NCHW",
    ]
    parsed = parse_graph(found)
    assert (parsed.name, parsed.inputs[0].name) == (name, name)


@in_one_item(
    ("value", "text"),
    [
        (3, "3"),
        (-(2**63), "-9223372036854775808"),
        (3.0, "3.0"),
        (-0.0, "-0.0"),
        (1e-5, "1e-05"),
        (0.1 + 0.2, "0.30000000000000004"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
        (np.float64(0.5), "0.5"),
        (True, "true"),
        (False, "false"),
        ("NCHW", '"NCHW"'),
        ("float16", '"float16"'),
        (DType.FLOAT16, "float16"),
        ((), "[]"),
        ((1, -2), "[1,-2]"),
        ((1.0, float("-inf")), "[1.0,-inf]"),
    ],
)
def test_attribute_is_spelled_by_its_type(value: float, text: str) -> None:
    graph = Graph()
    graph.add_node("Op", [], [("y", T)], {"a": value})
    found = print_graph(graph)
    assert f"{{a={text}}}" in found
    parsed = parse_graph(found).nodes[0].attributes["a"]
    assert repr(parsed) == repr(value if type(value) is not np.float64 else float(value))


def test_attributes_are_printed_in_alphabetical_order() -> None:
    graph = Graph()
    graph.add_node("Op", [], [("y", T)], {"b": 1, "C": 2, "a": 3})
    assert "{C=2, a=3, b=1}" in print_graph(graph)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (SplatConst(0.02, DType.FLOAT16, (64, 64)), "splat 0.02"),
        (SplatConst(1, DType.FLOAT32, ()), "splat 1.0"),
        (SplatConst(1e300, DType.FLOAT16, ()), "splat inf"),
        (SplatConst(3, DType.UINT8, (0,)), "splat 3"),
        (SplatConst(True, DType.BOOL, (9, 9)), "splat true"),  # noqa: FBT003
        (CastConst(SplatConst(1e5, DType.FLOAT32, (99,)), DType.FLOAT16), "splat 65500.0"),
        (DenseConst(np.array([0.1, 1 / 3], np.float32)), "dense [0.1, 0.33333334]"),
        (DenseConst(np.array([0.1, 1 / 3], np.float16)), "dense [0.1, 0.3333]"),
        (DenseConst(np.array([0.1, 1 / 3])), "dense [0.1, 0.3333333333333333]"),
        (DenseConst(np.array([1e30, -0.0, np.nan])), "dense [1e+30, -0.0, nan]"),
        (DenseConst(np.array([[1, 2], [3, 4]])), "dense [1, 2, 3, 4]"),
        (DenseConst(np.array([True, False])), "dense [true, false]"),
        (DenseConst(np.zeros((0, 3))), "dense []"),
        (DenseConst(np.array(7)), "dense [7]"),
        (DenseConst(np.zeros(DENSE_LIMIT + 1)), 'opaque "dense"'),
        (OpaqueConst(DType.INT8, (1,), "why"), 'opaque "why"'),
        (
            CastConst(OpaqueConst(DType.INT8, (1,), "why"), DType.INT32),
            'opaque "cast of why"',
        ),
        (
            DeferredConst(DType.INT64, (), [DenseConst(np.array(-7))], np.abs, "abs"),
            "dense [7]",
        ),
        (
            DeferredConst(DType.INT8, (), [OpaqueConst(DType.INT8, (), "w")], np.abs, "abs of w"),
            'opaque "abs of w"',
        ),
    ],
    ids=lambda data: data if isinstance(data, str) else type(data).__name__,
)
def test_constant_is_printed_with_values_or_label(data: ConstData, text: str) -> None:
    assert printed_const(data) == text
    parsed = parsed_const(f"{TensorType(data.dtype, data.shape)}", text)
    assert printed_const(parsed) == text
    assert (parsed.dtype, parsed.shape) == (data.dtype, data.shape)


class FileConst:
    """A constant of a kind that the printer does not know."""

    dtype = DType.INT8
    shape = (99,)

    def numpy(self) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
        return np.zeros(99, np.int8)

    def release(self) -> None:
        """Do nothing."""


def test_constant_of_another_kind_is_labeled_file() -> None:
    assert printed_const(FileConst()) == 'opaque "file"'


def test_dense_elements_fill_the_last_axis_first() -> None:
    const = parsed_const("int8[2,3] ND", "dense [1, 2, 3, 4, 5, 6]")
    assert const.numpy().tolist() == [[1, 2, 3], [4, 5, 6]]
    assert const.numpy().dtype == np.int8


def test_every_int4_survives_the_text_form() -> None:
    const = DenseConst(np.arange(-8, 8).astype(DType.INT4.numpy))
    text = printed_const(const)
    assert text.startswith("dense [-8, -7,")
    back = parsed_const("int4[16] ND", text).numpy()
    assert back.dtype == DType.INT4.numpy
    assert back.astype(np.int8).tolist() == list(range(-8, 8))


@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.BFLOAT16])
def test_every_element_of_a_narrow_float_survives_the_text_form(dtype: DType) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype.numpy)[::97]
    for start in range(0, len(every), DENSE_LIMIT):
        block = every[start : start + DENSE_LIMIT]
        text = printed_const(DenseConst(block))
        back = parsed_const(f"{dtype.value}[{len(block)}] ND", text).numpy()
        assert [repr(float(x)) for x in back] == [repr(float(x)) for x in block]


def test_parsed_splat_keeps_no_array() -> None:
    const = parsed_const("float16[1000000,1000000,1000000] ND", "splat 0.5")
    assert isinstance(const, SplatConst)
    assert const.value == 0.5


def test_unused_constant_is_left_out() -> None:
    text = "graph @g phase lowered {\n  const %c : int8[] ND = splat 1\n}\n"
    assert print_graph(parse_graph(text)) == "graph @g phase lowered {\n}\n"


def test_broken_graph_prints_what_there_is() -> None:
    graph = Graph()
    node = graph.add_node("Relu", [None], [("y", T)])
    node.set_input(0, node.output)
    node.outputs = ()
    graph.set_outputs([node.inputs[0] or graph.add_input("x", T)])
    assert "   = Relu(%y) :   name=" in print_graph(graph)


def test_thousands_of_nodes_take_a_line_each() -> None:
    count = 2000
    graph = Graph("deep", Phase.PLACED)
    value = graph.add_input("x", T)
    for index in range(count):
        bias = graph.constant("b", DenseConst(np.full(3, index, np.float32)))
        origin = Origin(index, f"conv{index}", "Conv")
        node = graph.add_node("Conv2D", [value, bias], [("y", T)], {"pads": (1, 1)}, [origin])
        value = node.output
    graph.add_output(value, "y")
    text = print_graph(graph)
    assert len(text.splitlines()) == 2 * count + 4
    assert len(text) < count * 250
    parsed = parse_graph(text)
    assert len(parsed.nodes) == count
    assert print_graph(parsed) == text


def docs_example() -> str:
    """Return the first fenced block of kind `ir` in the docs page."""
    match = re.search(r"```ir\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None
    return match.group(1)


def test_docs_example_round_trips() -> None:
    text = docs_example()
    code = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    assert print_graph(parse_graph(text)) == "\n".join([*code, ""])


def test_docs_example_keeps_the_promises_of_its_phase() -> None:
    verify_graph(parse_graph(docs_example()), Rules(find_operator))


def test_docs_name_every_phase_format_and_engine() -> None:
    text = DOCS.read_text(encoding="utf-8")
    words = [*(p.label for p in Phase), *(f.value for f in Format), *(e.value for e in Engine)]
    assert [word for word in words if word not in text] == []
