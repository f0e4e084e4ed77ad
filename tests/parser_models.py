"""Small models that break the rules of CANN's ONNX parser about whole models."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper
from onnx.helper import make_node
from onnx.numpy_helper import from_array

FLOAT = TensorProto.FLOAT
MODELS: dict[str, Callable[[], ModelProto]] = {}
"""Models that break one rule, by the name of it, and perhaps a word after it."""


def _breaks(name: str) -> Callable[[Callable[[], ModelProto]], Callable[[], ModelProto]]:
    def register(make: Callable[[], ModelProto]) -> Callable[[], ModelProto]:
        MODELS[name] = make
        return make

    return register


def value(name: str, dims: Sequence[int] | None = (2, 4), element: int = FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, element, dims)


X, COND, Y = value("x"), value("cond", (), TensorProto.BOOL), value("y", None)
HIGH = from_array(np.float32(0.5), "high")


def model(
    nodes: Iterable[NodeProto],
    inputs: Iterable[ValueInfoProto] = (X,),
    constants: Iterable[TensorProto] = (),
    imports: Iterable[tuple[str, int]] = (("", 13),),
    functions: Iterable[onnx.FunctionProto] = (),
) -> ModelProto:
    graph = helper.make_graph(list(nodes), "g", list(inputs), [Y], list(constants))
    opsets = [helper.make_opsetid(*each) for each in imports]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=list(functions))


def branch(
    nodes: Sequence[NodeProto], constants: Sequence[TensorProto] = (), name: str = "b"
) -> GraphProto:
    """A graph whose output is the first result of its last node that it does not omit."""
    last = next(name for name in reversed(nodes[-1].output) if name)
    return helper.make_graph(list(nodes), name, [], [value(last, None)], list(constants))


def chosen(then: GraphProto, other: GraphProto, name: str = "choice", out: str = "y") -> NodeProto:
    return make_node("If", ["cond"], [out], name, then_branch=then, else_branch=other)


def _negated(out: str) -> GraphProto:
    return branch([make_node("Neg", ["x"], [out])])


@_breaks("several-imports")
def foreign_import() -> ModelProto:
    return model([make_node("Relu", ["x"], ["y"])], imports=[("", 13), ("ai.onnx.ml", 2)])


@_breaks("domain-not-imported")
def domain_spelled_out() -> ModelProto:
    return model([make_node("Relu", ["x"], ["y"], domain="ai.onnx")])


@_breaks("repeated-name")
def twice_named() -> ModelProto:
    nodes = [make_node("Relu", ["x"], ["a"], "n"), make_node("Neg", ["a"], ["y"], "n")]
    return model(nodes)


@_breaks("repeated-name of an input")
def named_as_input() -> ModelProto:
    return model([make_node("Relu", ["x"], ["y"], "x")])


@_breaks("repeated-name of an unnamed node")
def named_as_unnamed() -> ModelProto:
    """A name that the second node without one gets, which stands in a branch of the first."""
    nodes = [make_node("Relu", ["x"], ["t"], "t1"), make_node("Relu", ["t"], ["t2"], "Neg_1")]
    then = branch([make_node("Relu", ["x"], ["t0"], "Neg_2"), make_node("Neg", ["t0"], ["t3"])])
    other = branch([*nodes, make_node("Neg", ["t2"], ["t4"], "t5")])
    node = make_node("If", ["cond"], ["a"], then_branch=then, else_branch=other)
    return model([node, make_node("Neg", ["a"], ["y"])], [X, COND])


@_breaks("omitted-input-in-branch")
def clip_in_branch() -> ModelProto:
    then = branch([make_node("Clip", ["x", "", "high"], ["a"], "clip")])
    return model([chosen(then, _negated("b"))], [X, COND], [HIGH])


@_breaks("omitted-input-in-branch at the end")
def trailing_in_branch() -> ModelProto:
    then = branch([make_node("Clip", ["x", "high", ""], ["a"], "clip")])
    return model([chosen(then, _negated("b"))], [X, COND], [HIGH])


def _weights(gates: int, size: int = 5) -> list[TensorProto]:
    """Weights of a recurrent layer over 4 features, 2 batches."""
    draw = np.random.default_rng(1).standard_normal
    shapes = {"w": (1, gates * size, 4), "r": (1, gates * size, size), "h": (1, 2, size)}
    return [from_array(draw(shape).astype(np.float32), name) for name, shape in shapes.items()]


@_breaks("omitted-input-in-branch of several operators")
def several_in_branch() -> ModelProto:
    def whole(name: str, *values: int) -> TensorProto:
        return from_array(np.array(values, np.int64), name)

    constants = [whole("s", 0), whole("e", 9), whole("k", 1), whole("p", 0, 0), whole("axis", 0)]
    constants += [whole("sizes", 1, 2, 5)]
    then = branch([make_node("GRU", ["x", "w", "r", "", "", "h"], ["", "a"], hidden_size=5)])
    # The omitted output would be joined to the omitted inputs: it has a name.
    then.node[0].output[0] = "all"
    nodes = [
        make_node("Slice", ["n", "s", "e", "", "k"], ["b"]),
        make_node("Resize", ["b", "", "", "sizes"], ["c"]),
        make_node("Add", ["c", "c"], ["d"]),
    ]
    node = chosen(then, branch(nodes, constants))
    negated = make_node("Neg", ["h"], ["m"]), make_node("Mul", ["m", "q"], ["n"])
    q = value("q", (1,))
    return model([*negated, node], [value("x", (3, 2, 4)), q, COND], _weights(3))


@_breaks("omitted-output-as-input")
def joined_to_state() -> ModelProto:
    """The second layer has no initial_h, and gets Y_c of the first one for it."""
    first = make_node("LSTM", ["x", "w", "r"], ["a", "", ""], "first", hidden_size=5)
    steps = make_node("Squeeze", ["a", "one"], ["b"], "steps")
    inputs = ["b", "w2", "r2", "zero", "steps2", "", "h"]
    second = make_node("LSTM", inputs, ["c", "y"], "second", hidden_size=5)
    draw = np.random.default_rng(2).standard_normal
    constants = [
        *_weights(4),
        from_array(np.array([1], np.int64), "one"),
        from_array(draw((1, 20, 5)).astype(np.float32), "w2"),
        from_array(draw((1, 20, 5)).astype(np.float32), "r2"),
        from_array(np.zeros((1, 40), np.float32), "zero"),
        from_array(np.full(2, 3, np.int32), "steps2"),
    ]
    return model([first, steps, second], [value("x", (3, 2, 4))], constants)


def state_passed_on() -> ModelProto:
    """What CANN makes of `joined_to_state`."""
    proto = joined_to_state()
    proto.graph.node[0].output[2] = "state"
    proto.graph.node[2].input[5] = "state"
    return proto


@_breaks("omitted-output-as-input of the node itself")
def joined_to_itself() -> ModelProto:
    node = make_node("LSTM", ["x", "w", "r", "", "", "h", "h"], ["", "y"], "l", hidden_size=5)
    return model([node], [value("x", (3, 2, 4))], _weights(4))


def _constant(**attributes: Any) -> ModelProto:
    nodes = [make_node("Constant", [], ["c"], **attributes), make_node("Mul", ["x", "c"], ["y"])]
    return model(nodes)


@_breaks("constant-without-value")
def floats() -> ModelProto:
    return _constant(value_floats=[1.0, 2.0, 3.0, 4.0])


@_breaks("constant-without-value in a branch")
def integers_in_branch() -> ModelProto:
    constant = make_node("Constant", [], ["c"], value_ints=[4, 2])
    then = branch([constant, make_node("Reshape", ["x", "c"], ["a"])])
    return model([chosen(then, _negated("b"))], [X, COND])


@_breaks("fill-one-by-one")
def filled() -> ModelProto:
    """A fill with float16, whose number stands in int32_data."""
    number = helper.make_tensor("v", TensorProto.FLOAT16, [1], [2.5])
    nodes = [
        make_node("Shape", ["x"], ["s"]),
        make_node("ConstantOfShape", ["s"], ["c"], value=number),
        make_node("Cast", ["c"], ["d"], to=FLOAT),
        make_node("Mul", ["x", "d"], ["y"]),
    ]
    return model(nodes)


@_breaks("no-inputs")
def without_inputs() -> ModelProto:
    constant = from_array(np.ones((2, 4), np.float32), "c")
    return model([make_node("Relu", ["c"], ["y"])], [], [constant])


@_breaks("output-without-input")
def unjoined() -> ModelProto:
    constant = from_array(np.ones((2, 4), np.float32), "c")
    proto = model(
        [make_node("Relu", ["c"], ["y"]), make_node("Neg", ["x"], ["z"])], [X], [constant]
    )
    proto.graph.output.append(value("z", None))
    return proto


@_breaks("function")
def with_function() -> ModelProto:
    opset = helper.make_opsetid("", 13)
    body = [make_node("Neg", ["a"], ["b"])]
    function = helper.make_function("own", "F", ["a"], ["b"], body, [opset])
    nodes = [make_node("F", ["x"], ["y"], domain="own")]
    return model(nodes, imports=[("", 13), ("own", 1)], functions=[function])


@_breaks("capture-of-nested-if")
def nested() -> ModelProto:
    """Of what the inner branches take from around them nothing but `x` is read around them."""
    inner = chosen(
        branch([make_node("Add", ["x", "high"], ["i"])]),
        branch([make_node("Sub", ["x", "low"], ["j"])]),
        "inner",
        "c",
    )
    then = branch([inner])
    constants = [HIGH, from_array(np.float32(-0.5), "low")]
    return model([chosen(then, _negated("b"), "outer")], [X, COND], constants)


@_breaks("element-type")
def sequence() -> ModelProto:
    kind = helper.make_tensor_sequence_value_info("s", FLOAT, [2, 4])
    at = from_array(np.array(0, np.int64), "at")
    return model([make_node("SequenceAt", ["s", "at"], ["y"])], [kind], [at])


@_breaks("element-type of a constant")
def packed() -> ModelProto:
    constant = helper.make_tensor("c", TensorProto.UINT4, [4], [1, 2, 3, 4])
    nodes = [make_node("Cast", ["c"], ["d"], to=FLOAT), make_node("Mul", ["x", "d"], ["y"])]
    return model(nodes, constants=[constant], imports=[("", 21)])


def one_by_one() -> ModelProto:
    """A constant of float16 whose numbers stand in int32_data."""
    constant = helper.make_tensor("c", TensorProto.FLOAT16, [4], [1.0, 2.0, 3.0, 4.0])
    nodes = [make_node("Cast", ["c"], ["d"], to=FLOAT), make_node("Mul", ["x", "d"], ["y"])]
    return model(nodes, constants=[constant])


def external(key: str, text: str, *, in_branch: bool) -> ModelProto:
    """A constant whose data is in `c.bin`, with one more entry of its place."""
    constant = TensorProto(name="c", data_type=FLOAT, dims=[4])
    constant.data_location = TensorProto.EXTERNAL
    entries = {"location": "c.bin", "offset": "0", "length": "16"} | {key: text}
    for name, entry in entries.items():
        constant.external_data.add(key=name, value=entry)
    if not in_branch:
        return model([make_node("Mul", ["x", "c"], ["y"])], constants=[constant])
    then = branch([make_node("Mul", ["x", "c"], ["a"])], [constant])
    return model([chosen(then, _negated("b"))], [X, COND])
