"""The verifier: every promise broken once, beside the graph that keeps it."""

import numpy as np
import pytest

from atc_py.diag import AtcError, Diagnostic, ExitCode
from atc_py.diag.codes import BROKEN_INVARIANT
from atc_py.ir import AttrValue, DenseConst, Engine, Graph, Node, Phase, TensorType, Value
from atc_py.ir.parser import parse_graph
from atc_py.ir.signature import ATTRIBUTE_TYPES
from atc_py.ir.verifier import Rules, verify_graph
from atc_py.target import Attribute, Operand, TargetOp, operators
from atc_py.tensor.dtypes import DType
from atc_py.text import Text
from tests.failures import in_one_item

_Y = (Operand("y"),)


def row(
    name: str, inputs: tuple[Operand, ...], outputs: tuple[Operand, ...], *attributes: Attribute
) -> TargetOp:
    return TargetOp(name, inputs, outputs, "Made up.", attributes=attributes)


DEFAULTS: dict[str, AttrValue] = {
    "int": 0,
    "float": 0.0,
    "bool": False,
    "string": "",
    "ints": (),
    "floats": (),
    "dtype": DType.INT8,
}

ROWS = {
    "One": row("One", (Operand("x"),), _Y),
    "Opt": row("Opt", (Operand("x"), Operand("bias", optional=True)), _Y),
    "Many": row("Many", (Operand("x", variadic=True),), (Operand("y", variadic=True),)),
    "Half": row("Half", (Operand("x"),), (Operand("y"), Operand("z", optional=True))),
    "Attr": row(
        "Attr",
        (),
        _Y,
        Attribute("must", "int"),
        *(Attribute(f"a_{kind}", kind, default) for kind, default in DEFAULTS.items()),
    ),
}
RULES = Rules(ROWS.get)
T = TensorType(DType.INT8, (2,))

GOOD = """\
graph @g phase lowered {
  input %x : int8[2] ND
  const %c : int8[2] ND = splat 1
  %y = One(%x) : int8[2] ND  from [7 "conv2" Conv, 8 "bn" BatchNormalization]
  %z = Opt(%y, %c) : int8[2] ND
  %p, %q = Many(%z, %x, %z) : int8[2] ND, int8[2] ND
  output %p
  output %c
  output %p as "again"
}
"""


def violations(graph: Graph, rules: Rules = RULES) -> list[Diagnostic]:
    """Return the verifier's findings."""
    try:
        verify_graph(graph, rules)
    except AtcError as error:
        return list(error.diagnostics)
    return []


def messages(graph: Graph, rules: Rules = RULES) -> list[str]:
    return [found.message for found in violations(graph, rules)]


def of_text(text: str, phase: str = "lowered", rules: Rules = RULES) -> list[str]:
    """Return the verifier's findings in a graph with the input %x and these statements."""
    head = f"graph @g phase {phase} {{ input %x : int8[2] ND "
    return messages(parse_graph(f"{head}{text} }}"), rules)


def test_good_graph_breaks_nothing() -> None:
    assert messages(parse_graph(GOOD)) == []
    assert messages(Graph()) == []


def two_nodes_one_name(graph: Graph) -> None:
    graph.nodes[2].name = "One:y"


def output_without_name(graph: Graph) -> None:
    graph.output_names.pop()


def use_not_recorded(graph: Graph) -> None:
    graph.inputs[0]._drop_use(graph.nodes[0], 0)


def test_violation_is_a_bug_of_the_compiler() -> None:
    graph = parse_graph(GOOD)
    two_nodes_one_name(graph)
    output_without_name(graph)
    with pytest.raises(AtcError) as caught:
        verify_graph(graph, RULES)
    assert [found.code for found in caught.value.diagnostics] == [BROKEN_INVARIANT] * 2
    assert caught.value.exit_code is ExitCode.BUG


def test_place_is_the_first_source_node() -> None:
    graph = parse_graph(GOOD)
    use_not_recorded(graph)
    (found,) = violations(graph)
    assert str(found.place) == 'node 7 "conv2" (Conv)'


def test_node_without_origin_has_no_place() -> None:
    graph = parse_graph(GOOD)
    two_nodes_one_name(graph)
    (found,) = violations(graph)
    assert found.place is None


def test_every_violation_of_every_node_is_reported() -> None:
    found = of_text(
        "%a = Gone() : int8[0] ND %b = One() {k=1} : int8[2] ND %c = One(%x, %a, %b) : int8[2] ND"
    )
    assert found == [
        "Gone 'Gone:a': the target has no operator Gone",
        "One 'One:b': input 0 (x) is absent and not optional",
        "One 'One:b': One has no attribute k; it has none",
        "One 'One:c': at most 1 inputs are allowed, found 3",
    ]


@in_one_item(
    ("node", "expected"),
    [
        ("%y = One(%x) : int8[2] ND", None),
        ("%y = One() : int8[2] ND", "input 0 (x) is absent and not optional"),
        ("%y = One(_) : int8[2] ND", "input 0 (x) is absent and not optional"),
        ("%y = One(%x, _) : int8[2] ND", "at most 1 inputs are allowed, found 2"),
        ("%y, %z = One(%x) : int8[2] ND, int8[2] ND", "at most 1 outputs are allowed, found 2"),
        ("%y = Opt(%x) : int8[2] ND", None),
        ("%y = Opt(%x, _) : int8[2] ND", None),
        ("%y = Opt(%x, %x) : int8[2] ND", None),
        ("%y = Opt(_, %x) : int8[2] ND", "input 0 (x) is absent and not optional"),
        ("%y = Opt(%x, %x, %x) : int8[2] ND", "at most 2 inputs are allowed, found 3"),
        ("%y = Many(%x) : int8[2] ND", None),
        ("%y, %z = Many(%x, %x, %x) : int8[2] ND, int8[2] ND", None),
        ("%y = Many() : int8[2] ND", "input 0 (x) is absent and not optional"),
        ("%y = Many(%x, _, %x) : int8[2] ND", "input 1 (x) is absent and not optional"),
        ("%y = Half(%x) : int8[2] ND", None),
        ("%y, %z = Half(%x) : int8[2] ND, int8[2] ND", None),
        ("%y = Gone(%x) : int8[2] ND", "the target has no operator Gone"),
    ],
)
def test_operands_are_compared_with_the_row(node: str, expected: str | None) -> None:
    assert [text.split(": ", 1)[1] for text in of_text(node)] == ([expected] if expected else [])


def test_node_without_outputs_is_reported() -> None:
    graph = parse_graph(GOOD)
    graph.nodes[2].outputs = ()
    graph.set_outputs([])
    graph.output_names = []
    assert messages(graph) == ["Many 'Many:p': output 0 (y) is absent and not optional"]


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("int", [0, -1], [True, 1.0, "1", (1,)]),
        ("float", [0.0, float("nan")], [0, True, "0.0", (0.0,)]),
        ("bool", [True, False], [1, 0.0, "true"]),
        ("string", ["", "x"], [1, DType.INT8]),
        ("ints", [(), (1, 2)], [1, (1.0,), (True,), (1, 2.0)]),
        ("floats", [(), (1.0, 2.0)], [1.0, (1,), (1.0, 2)]),
        ("dtype", [DType.FLOAT16], ["float16", 1]),
    ],
)
def test_attribute_must_have_its_type(
    kind: str, good: list[AttrValue], bad: list[AttrValue]
) -> None:
    for value in [*good, *bad]:
        graph = Graph()
        graph.add_node("Attr", [], [("y", T)], {"must": 1, f"a_{kind}": value})
        message = f"Attr 'Attr:y': attribute a_{kind} must be of type {kind}, found {value!r}"
        # Identity, because 1 and True are equal.
        expected = [] if any(value is each for each in good) else [message]
        assert messages(graph) == expected


def test_attribute_without_default_must_be_given() -> None:
    assert of_text("%y = Attr() {a_int=1} : int8[2] ND") == [
        "Attr 'Attr:y': attribute must must be given"
    ]


def test_unknown_attribute_is_reported_with_the_known_ones() -> None:
    known = ", ".join(["must", *(f"a_{kind}" for kind in DEFAULTS)])
    assert of_text("%y = Attr() {must=1, axis=1} : int8[2] ND") == [
        f"Attr 'Attr:y': Attr has no attribute axis; it has {known}"
    ]


def test_target_rows_have_only_attribute_types_that_are_checked() -> None:
    used = {attribute.type for found in operators() for attribute in found.attributes}
    assert used <= set(ATTRIBUTE_TYPES)


def test_dims_must_not_be_negative() -> None:
    graph = Graph()
    bad = TensorType(DType.INT8, (2, -1))
    x = graph.add_input("x", bad)
    graph.add_node("One", [x], [("y", bad)])
    assert messages(graph) == [
        f"{node}dims of %{name} must be at least 0, found int8[2,-1] ND"
        for node, name in [("One 'One:y': ", "x"), ("One 'One:y': ", "y")]
    ]


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.ones(2, np.int8), None),
        (np.ones(2, np.uint8), "uint8[2]"),
        (np.ones((2, 1), np.int8), "int8[2,1]"),
    ],
)
def test_constant_must_have_the_type_of_its_data(
    array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], found: str | None
) -> None:
    graph = parse_graph(GOOD)
    graph.constants()[0].const = DenseConst(array)
    message = f"Opt 'Opt:z': constant %c is declared as int8[2] ND, its data are {found}"
    assert messages(graph) == ([message] if found else [])


def test_constant_that_is_only_an_output_is_checked() -> None:
    graph = Graph()
    graph.add_output(Value("c", T, DenseConst(np.ones(3, np.int8))))
    assert messages(graph) == ["constant %c is declared as int8[2] ND, its data are int8[3]"]


TWO = "%y = One(%x) : int8[2] ND engine=aicore %z = One(%y) : int8[2] ND"


def test_typed_node_must_have_an_engine() -> None:
    assert of_text(TWO) == []
    assert of_text(TWO, "typed") == [
        "One 'One:z': a node of phase typed must have an engine, found none"
    ]
    assert of_text(f"{TWO} engine=local", "typed") == []


def test_typed_node_must_have_dtypes_of_its_engine() -> None:
    def dtypes_ok(node: Node) -> Text | None:
        return Text(f"{node.output.name} is wrong") if node.engine is Engine.AICORE else None

    rules = Rules(ROWS.get, dtypes_ok)
    text = f"{TWO} engine=aicpu"
    assert of_text(text, "typed", rules) == ["One 'One:y': y is wrong"]
    assert of_text(text, "placed", rules) == ["One 'One:y': y is wrong"]
    assert of_text(text, "lowered", rules) == []


def test_dtypes_are_not_asked_about_a_node_with_wrong_operands() -> None:
    def dtypes_ok(node: Node) -> Text | None:
        return Text(f"asked about {node.name}")

    found = of_text(
        "%y = One() : int8[2] ND engine=aicore %z = Gone() : int8[2] ND engine=aicore",
        "typed",
        Rules(ROWS.get, dtypes_ok),
    )
    assert found == [
        "One 'One:y': input 0 (x) is absent and not optional",
        "Gone 'Gone:z': the target has no operator Gone",
    ]


@pytest.mark.parametrize(
    ("type_", "rank"),
    [
        ("int8[1,2,3,4] NCHW", None),
        ("int8[1,2,3] NCHW", 4),
        ("int8[1,2,3,4,5] NHWC", 4),
        ("int8[1,2,3,4] NHWC", None),
        ("int8[1,1,3,4,16] NC1HWC0", None),
        ("int8[1,2,3,4] NC1HWC0", 5),
        ("int8[] ND", None),
        ("int8[1,2,3] FRACTAL_Z", None),
        ("int8[1,2,3] FRACTAL_NZ", None),
    ],
)
def test_laid_out_value_has_the_rank_of_its_format(type_: str, rank: int | None) -> None:
    text = f"%y = One(%x) : {type_}  engine=aicore"
    name = type_.split()[1]
    message = f"One 'One:y': %y must have {rank} axes in format {name}, found {type_}"
    assert of_text(text, "laid_out") == ([message] if rank else [])
    assert of_text(text, "placed") == ([message] if rank else [])
    assert of_text(text, "typed") == []


@pytest.mark.parametrize(
    ("type_", "reason"),
    [
        ("int8[1,2,3,4] NCHW@NC1HWC0", None),
        ("int8[1,?,3,4] NCHW@NC1HWC0", None),
        ("int8[4,2,3,4] NCHW@FRACTAL_Z(2)", None),
        ("int8[3,2] ND@FRACTAL_NZ", None),
        ("int8[3] ND@FRACTAL_NZ", "FRACTAL_NZ is for row-by-row tensors of at least 2 axes"),
        ("int8[1,2,3,4] ND@NC1HWC0", "NC1HWC0 is for NCHW or NHWC, found ND of 1x2x3x4"),
        ("int8[5,2,3,4] NCHW@FRACTAL_Z(2)", "5 output channels do not divide into 2 groups"),
    ],
)
def test_laid_out_value_has_a_storage_that_its_type_takes(type_: str, reason: str | None) -> None:
    text = f"%y = One(%x) : {type_}  engine=aicore"
    wanted = f"One 'One:y': %y of type {type_} cannot be stored in this way: {reason}"
    for phase in ("laid_out", "placed"):
        found = of_text(text, phase)
        assert [message[: len(wanted)] for message in found] == ([wanted] if reason else [])
    assert of_text(text, "typed") == []


def test_format_of_an_unused_input_is_checked() -> None:
    graph = parse_graph("graph @g phase laid_out { input %x : int8[2] NCHW }")
    assert messages(graph) == ["%x must have 4 axes in format NCHW, found int8[2] NCHW"]


def test_every_phase_has_its_checks() -> None:
    for phase in Phase:
        graph = Graph("g", phase)
        graph.add_node("One", [None], [("y", T)])
        expected = 1 if phase is Phase.LOWERED else 2
        assert len(violations(graph)) == expected
