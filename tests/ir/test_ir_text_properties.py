"""Properties of the text form over generated graphs and damaged texts."""

from contextlib import suppress

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from atc_py.diag import AtcError
from atc_py.ir import (
    AttrValue,
    CastConst,
    ConstData,
    DeferredConst,
    DenseConst,
    Engine,
    Graph,
    Node,
    OpaqueConst,
    Origin,
    Phase,
    SplatConst,
    TensorType,
    Value,
)
from atc_py.ir.parser import parse_graph
from atc_py.ir.printer import integer_range, print_graph
from atc_py.ir.verifier import Rules, verify_graph
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.storage import BLOCKED_FORMATS, Storage
from tests.sampling import examples

NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.]{0,6}", fullmatch=True) | st.text(max_size=6)
SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)
STORAGES = st.builds(Storage, st.sampled_from(BLOCKED_FORMATS), st.integers(1, 1 << 40))
TYPES = st.tuples(
    st.sampled_from(DType), SHAPES, st.sampled_from(Format), st.none() | STORAGES
).map(lambda parts: TensorType(*parts))
INT64 = st.integers(*integer_range(DType.INT64))
ATTRIBUTES: st.SearchStrategy[AttrValue] = st.one_of(
    st.booleans(),
    INT64,
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(DType),
    st.lists(INT64, max_size=4).map(tuple),
    st.lists(st.floats(), max_size=4).map(tuple),
)
ORIGINS = st.lists(
    st.builds(Origin, st.integers(0, 1 << 40), st.text(max_size=6), NAMES), max_size=3
)


@st.composite
def splats(draw: st.DrawFn) -> SplatConst:
    dtype = draw(st.sampled_from(DType))
    value: float
    if dtype is DType.BOOL:
        value = draw(st.booleans())
    elif dtype.is_integer:
        value = draw(st.integers(*integer_range(dtype)))
    else:
        value = draw(st.floats())
    return SplatConst(value, dtype, draw(SHAPES))


@st.composite
def denses(draw: st.DrawFn) -> DenseConst:
    """Return arrays of any bits, so that NaN, infinities and the smallest numbers come up."""
    dtype, shape = draw(st.sampled_from(DType)), draw(SHAPES)
    count = int(np.prod(shape)) * dtype.itemsize
    data = draw(st.binary(min_size=count, max_size=count)) if count <= 64 else bytes(count)
    raw = np.frombuffer(data, np.uint8)
    return DenseConst((raw & 1 if dtype is DType.BOOL else raw).view(dtype.numpy).reshape(shape))


@st.composite
def constants(draw: st.DrawFn) -> ConstData:
    base: ConstData = draw(
        st.one_of(splats(), denses(), st.builds(OpaqueConst, st.sampled_from(DType), SHAPES, NAMES))
    )
    match draw(st.integers(0, 2)):
        case 0:
            return CastConst(base, draw(st.sampled_from([base.dtype, DType.BFLOAT16])))
        case 1:
            label = draw(st.text(max_size=6))
            return DeferredConst(base.dtype, base.shape, [base], lambda array: array, label)
        case _:
            return base


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    graph = Graph(draw(NAMES), draw(st.sampled_from(Phase)))
    values: list[Value | None] = [None]
    values += [graph.add_input(draw(NAMES), draw(TYPES)) for _ in range(draw(st.integers(0, 2)))]
    for _ in range(draw(st.integers(0, 3))):
        values.append(graph.constant(draw(NAMES), draw(constants()), draw(TYPES)))
    for _ in range(draw(st.integers(0, 4))):
        values += draw_node(draw, graph, values).outputs
    for value in draw(st.lists(st.sampled_from(values), max_size=3)):
        if value is not None:
            graph.add_output(value, draw(st.none() | st.text(max_size=6)))
    return graph


def draw_node(draw: st.DrawFn, graph: Graph, values: list[Value | None]) -> Node:
    node = graph.add_node(
        draw(NAMES),
        draw(st.lists(st.sampled_from(values), max_size=4)),
        draw(st.lists(st.tuples(NAMES, TYPES), min_size=1, max_size=3)),
        draw(st.dictionaries(NAMES, ATTRIBUTES, max_size=3)),
        draw(ORIGINS),
    )
    node.engine = draw(st.none() | st.sampled_from(Engine))
    return node


def shown(value: Value | None) -> str:
    return repr(value)


def described(node: Node) -> tuple[object, ...]:
    """Return everything about a node that its text must carry, with NaN equal to NaN."""
    return (
        (node.op, node.name, node.engine, node.origins),
        [shown(value) for value in node.inputs],
        [shown(value) for value in node.outputs],
        sorted((name, repr(value)) for name, value in node.attributes.items()),
    )


@examples(150)
@given(graphs())
def test_any_graph_survives_its_text_form(graph: Graph) -> None:
    text = print_graph(graph)
    parsed = parse_graph(text)
    assert print_graph(parsed) == text
    assert (parsed.name, parsed.phase) == (graph.name, graph.phase)
    assert list(map(described, parsed.nodes)) == list(map(described, graph.nodes))
    assert list(map(shown, parsed.inputs)) == list(map(shown, graph.inputs))
    assert list(map(shown, parsed.outputs)) == list(map(shown, graph.outputs))
    assert parsed.output_names == graph.output_names
    assert list(map(shown, parsed.constants())) == list(map(shown, graph.constants()))


@examples(60)
@given(graphs())
def test_any_graph_built_through_the_interface_is_well_formed(graph: Graph) -> None:
    graph.phase = Phase.LOWERED
    try:
        verify_graph(graph, Rules(lambda _op: None))
    except AtcError as error:
        messages = [found.message for found in error.diagnostics]
        assert [m for m in messages if "the target has no operator" not in m] == []


NETWORK = """\
graph @"light resnet" phase typed {
  input %x : float32[1,3,224,224] NCHW # fed
  const %b : float16[2] ND = dense [0.5, -1.0]
  const %w : float32[64,3,7,7] ND = splat 0.02
  const %o : int64[0] ND = opaque "fold"
  %y = Conv2D(%x, %w, _, %b, %o) {a=true, d=int8, e=[], f=1.5, p=[3,3], q=[nan,-inf], s="x"} : \
float16[1] ND  engine=aicore  name="n"  from [0 "conv1" Conv, 1 "" Relu]
  %a, %"b/0" = SplitVD(%y) : float16[] ND, float16[1,32] NHWC@FRACTAL_Z(2)
  output %a as "prob"
}
"""

SNIPPETS = st.sampled_from(
    [
        *'%@"#\\{}[]()=:,_-.\n\x00é٣',
        *("9" * 30, "1e999", "-inf", "nan", '"\\ud800"'),
        *NETWORK.split(),
    ]
)


@examples(400)
@given(st.data())
def test_damaged_text_raises_nothing_but_diagnostics(data: st.DataObject) -> None:
    text = NETWORK
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 12))
        text = text[:start] + data.draw(SNIPPETS | st.just("")) + text[end:]
    with suppress(AtcError):
        print_graph(parse_graph(text))


@examples(100)
@given(st.lists(SNIPPETS | st.text(max_size=3), max_size=30).map(" ".join))
def test_any_text_raises_nothing_but_diagnostics(text: str) -> None:
    with suppress(AtcError):
        parse_graph(f"graph @g phase lowered {{ input %x : int8[] ND {text}")


def test_every_prefix_of_a_text_is_an_error() -> None:
    end = NETWORK.rindex("}")
    accepted = []
    for cut in range(end):
        with suppress(AtcError):
            parse_graph(NETWORK[:cut])
            accepted.append(cut)
    assert accepted == []
