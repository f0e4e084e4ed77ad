"""Mutations of ONNX models that know what a graph is: the classes of damage that are named.

`MUTATIONS` holds them by name; each changes the model in place and may find nothing to change.
"""

import random
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from atc_py.spec import library
from tests.fuzz.any_attribute import any_attribute
from tests.fuzz.proto_mutations import EXTREME_INTS, HOSTILE_TEXTS, mutate_field

Mutation: TypeAlias = Callable[[onnx.ModelProto, random.Random], None]


MUTATIONS: dict[str, Mutation] = {}

OPSETS = (0, -1, 1, 6, 9, 13, 17, 25, 99, 2**31 - 1, 2**40)
ELEMENTS = (-1, *range(28), 99, 2**31 - 1)


def mutation(function: Mutation) -> Mutation:
    """Register a mutation under its name."""
    name = getattr(function, "__name__", "")
    assert name not in MUTATIONS, name
    MUTATIONS[name] = function
    return function


def _node(model: onnx.ModelProto, rng: random.Random) -> onnx.NodeProto:
    """Return any node; a new one where there is none."""
    nodes = model.graph.node
    found: onnx.NodeProto = rng.choice(nodes) if nodes else nodes.add(op_type="Relu")
    return found


def _names(model: onnx.ModelProto) -> list[str]:
    """Return the values of the graph, and one that it does not have."""
    graph = model.graph
    names = [each.name for each in (*graph.input, *graph.initializer, *graph.output)]
    return [*names, *(name for node in graph.node for name in node.output), "nowhere"]


@mutation
def a_field(model: onnx.ModelProto, rng: random.Random) -> None:
    """Change any field of any message."""
    mutate_field(model, rng)


@mutation
def inputs_of_a_node(model: onnx.ModelProto, rng: random.Random) -> None:
    """Take away, blank, add or rewire an input; the new one may come after the node: a cycle."""
    node = _node(model, rng)
    at = rng.randrange(len(node.input)) if node.input else None
    action = rng.choice(("remove", "blank", "add", "rewire", "rewire", "hundred"))
    if at is None or action == "add":
        node.input.append(rng.choice(_names(model)))
    elif action == "remove":
        del node.input[at]
    elif action == "hundred":
        node.input.extend([node.input[at]] * 100)
    else:
        node.input[at] = "" if action == "blank" else rng.choice(_names(model))


@mutation
def outputs_of_a_node(model: onnx.ModelProto, rng: random.Random) -> None:
    """Take away, blank or add an output, or give it a name that another value has."""
    node = _node(model, rng)
    if not node.output or rng.random() < 0.3:
        node.output.append(rng.choice([*_names(model), "", "another"]))
        return
    at = rng.randrange(len(node.output))
    if rng.random() < 0.3:
        del node.output[at]
    else:
        node.output[at] = rng.choice(["", *_names(model)])


@mutation
def a_cycle(model: onnx.ModelProto, rng: random.Random) -> None:
    """Let a node read what it or a later node writes."""
    node, other = _node(model, rng), rng.choice(model.graph.node)
    if node.input and other.output:
        node.input[rng.randrange(len(node.input))] = rng.choice(other.output)


@mutation
def nodes(model: onnx.ModelProto, rng: random.Random) -> None:
    """Take a node out, put one in twice, or turn the order of all round."""
    found = model.graph.node
    action = rng.choice(("remove", "twice", "reverse", "none"))
    if not found:
        return
    if action == "remove":
        del found[rng.randrange(len(found))]
    elif action == "twice":
        found.add().CopyFrom(rng.choice(found))
    elif action == "reverse":
        turned = [onnx.NodeProto.FromString(each.SerializeToString()) for each in reversed(found)]
        del found[:]
        found.extend(turned)
    elif rng.random() < 0.1:
        del found[:]


@mutation
def an_operator(model: onnx.ModelProto, rng: random.Random) -> None:
    """Make a node one of another operator or domain."""
    node = _node(model, rng)
    names = [spec.op for spec in library().all()]
    everything = sorted({schema.name for schema in onnx.defs.get_all_schemas()})
    pool = rng.choice((names, everything, HOSTILE_TEXTS, ("NoSuchOperator",)))
    node.op_type = rng.choice(pool)
    if rng.random() < 0.2:
        node.domain = rng.choice(("ai.onnx", "ai.onnx.ml", "com.microsoft", "custom", "a\nb"))


@mutation
def attributes(model: onnx.ModelProto, rng: random.Random) -> None:
    """Change the type or value of an attribute, rename it, take it away or put it in twice."""
    node = _node(model, rng)
    if not node.attribute or rng.random() < 0.1:
        node.attribute.add(name=rng.choice(("axis", "axes", "pads", "perm", "value", "to", "mode")))
    attribute = rng.choice(node.attribute)
    action = rng.choice(("type", "value", "value", "rename", "remove", "twice", "reference"))
    if action == "type":
        attribute.type = rng.choice(list(AttributeProto.AttributeType.values()))
    elif action == "rename":
        attribute.name = rng.choice((*HOSTILE_TEXTS, "axis", "value", "then_branch"))
    elif action == "remove":
        node.attribute.remove(attribute)
    elif action == "twice":
        node.attribute.add().CopyFrom(attribute)
    elif action == "reference":
        attribute.ref_attr_name = "outer"
    else:
        name = attribute.name
        attribute.CopyFrom(any_attribute(name, rng))


@mutation
def dims(model: onnx.ModelProto, rng: random.Random) -> None:
    """Change a dim of a declared type: negative, huge, overflowing, open, or one more."""
    graph = model.graph
    declared = [*graph.input, *graph.output, *graph.value_info]
    if not declared:
        return
    shape = rng.choice(declared).type.tensor_type.shape
    if not shape.dim or rng.random() < 0.2:
        for _ in range(rng.choice((1, 1, 40))):
            shape.dim.add(dim_value=rng.choice(EXTREME_INTS))
        return
    dim = rng.choice(shape.dim)
    action = rng.choice(("value", "open", "remove"))
    if action == "remove":
        shape.dim.remove(dim)
    elif action == "open":
        dim.dim_param = rng.choice(("batch", *HOSTILE_TEXTS))
    else:
        dim.dim_value = rng.choice((*EXTREME_INTS, 3, 5, 100))


@mutation
def a_type(model: onnx.ModelProto, rng: random.Random) -> None:
    """Give a value another element type, or make it a sequence, a map, an optional or sparse."""
    declared = [*model.graph.input, *model.graph.output, *model.graph.value_info]
    if not declared:
        return
    value = rng.choice(declared)
    kind = rng.choice(("element", "element", "sequence", "optional", "map", "sparse", "nothing"))
    if kind == "element":
        value.type.tensor_type.elem_type = rng.choice(ELEMENTS)
    elif kind == "sequence":
        value.type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    elif kind == "optional":
        value.type.optional_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    elif kind == "map":
        value.type.map_type.key_type = TensorProto.INT64
    elif kind == "sparse":
        value.type.sparse_tensor_type.elem_type = TensorProto.FLOAT
    else:
        value.ClearField("type")


def _tensor(model: onnx.ModelProto, rng: random.Random) -> TensorProto | None:
    """Return any initializer or tensor of an attribute."""
    found = list(model.graph.initializer)
    found += [each.t for node in model.graph.node for each in node.attribute if each.HasField("t")]
    return rng.choice(found) if found else None


@mutation
def dimensions_of_a_tensor(model: onnx.ModelProto, rng: random.Random) -> None:
    """Let the shape of a tensor contradict its data."""
    tensor = _tensor(model, rng)
    if tensor is None:
        return
    if tensor.dims and rng.random() < 0.7:
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(EXTREME_INTS)
    else:
        tensor.dims.extend([rng.choice(EXTREME_INTS)] * rng.choice((1, 2, 70)))


@mutation
def data_of_a_tensor(model: onnx.ModelProto, rng: random.Random) -> None:
    """Cut, lengthen or exchange a tensor's data, or change what type it is said to be."""
    tensor = _tensor(model, rng)
    if tensor is None:
        return
    action = rng.choice(("cut", "longer", "empty", "type", "both", "strings"))
    if action == "type":
        tensor.data_type = rng.choice(ELEMENTS)
    elif action == "strings":
        tensor.data_type = TensorProto.STRING
        tensor.string_data.extend([b"text", b"\xff"])
    elif action == "both":
        tensor.float_data.extend([1.0, float("nan")])
    elif action == "longer":
        tensor.raw_data += rng.randbytes(rng.choice((1, 4, 8)))
    else:
        tensor.raw_data = tensor.raw_data[: -rng.choice((1, 4))] if action == "cut" else b""


@mutation
def numbers_of_a_tensor(model: onnx.ModelProto, rng: random.Random) -> None:
    """Set elements of a small tensor to extremes: shapes, axes, indices, pads, scales."""
    tensor = _tensor(model, rng)
    if tensor is None or tensor.ByteSize() > 2**12:
        return
    try:
        array = numpy_helper.to_array(tensor).copy()
    except Exception:  # noqa: BLE001  (an earlier mutation broke it)
        return
    if not array.size or array.dtype.kind not in "iuf":
        return
    at = rng.randrange(array.size)
    if array.dtype.kind == "f":
        array.reshape(-1)[at] = rng.choice((0.0, -1.0, np.nan, np.inf))
    else:
        info = np.iinfo(array.dtype)
        wanted = rng.choice((*EXTREME_INTS, 3, 5, -2))
        array.reshape(-1)[at] = min(max(wanted, int(info.min)), int(info.max))
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


@mutation
def a_constant_becomes_an_input(model: onnx.ModelProto, rng: random.Random) -> None:
    """Let the run provide what was known, or make an input a constant of its declared type."""
    graph = model.graph
    if graph.initializer and rng.random() < 0.7:
        tensor = rng.choice(graph.initializer)
        known = {each.name for each in graph.input}
        if tensor.name not in known:
            graph.input.append(
                helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
            )
        graph.initializer.remove(tensor)
    elif graph.input:
        value = rng.choice(graph.input)
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if all(0 <= length <= 64 for length in shape) and len(shape) < 6:
            zeros = np.zeros(shape, np.float32)
            graph.initializer.append(numpy_helper.from_array(zeros, value.name))


@mutation
def opsets(model: onnx.ModelProto, rng: random.Random) -> None:
    """Import another version, none, two of one domain, or another domain."""
    action = rng.choice(("version", "version", "none", "two", "other", "ir"))
    if action == "none":
        del model.opset_import[:]
    elif action == "ir":
        model.ir_version = rng.choice((*OPSETS, 3, 4, 10))
    elif action == "version" and model.opset_import:
        rng.choice(model.opset_import).version = rng.choice(OPSETS)
    else:
        domain = rng.choice(
            ("", "ai.onnx") if action == "two" else ("custom", "a\nb", "ai.onnx.ml")
        )
        model.opset_import.add(domain=domain, version=rng.choice(OPSETS))


@mutation
def the_graph(model: onnx.ModelProto, rng: random.Random) -> None:
    """Empty the graph, or its outputs, or its inputs; hand one output out twice."""
    graph = model.graph
    action = rng.choice(("graph", "outputs", "inputs", "twice", "weights", "strange"))
    if action == "graph":
        model.graph.Clear()
    elif action == "outputs":
        del graph.output[:]
    elif action == "inputs":
        del graph.input[:]
    elif action == "weights":
        del graph.initializer[:]
    elif action == "strange":
        graph.output.add(name=rng.choice(_names(model)))
    elif graph.output:
        graph.output.add().CopyFrom(rng.choice(graph.output))


@mutation
def a_name(model: onnx.ModelProto, rng: random.Random) -> None:
    """Give a value another name everywhere, or a node, one that is hostile to readers."""
    text = rng.choice(HOSTILE_TEXTS)
    if rng.random() < 0.3:
        _node(model, rng).name = text
        return
    old = rng.choice(_names(model))
    for node in model.graph.node:
        for names in (node.input, node.output):
            for at, name in enumerate(names):
                if name == old:
                    names[at] = text
    for value in (*model.graph.input, *model.graph.output, *model.graph.initializer):
        if value.name == old:
            value.name = text


@mutation
def a_subgraph(model: onnx.ModelProto, rng: random.Random) -> None:
    """Put the graph into a branch of an If, a Loop or a Scan, some levels deep."""
    inner = onnx.GraphProto.FromString(model.graph.SerializeToString())
    if inner.ByteSize() > 2**16:
        return
    for level in range(rng.choice((1, 1, 2, 5, 12))):
        op = rng.choice(("If", "If", "If", "Loop", "Scan"))
        node = onnx.NodeProto(op_type=op, input=["cond"], name=f"level {level}")
        node.output.extend(each.name for each in inner.output)
        for name in ("then_branch", "else_branch") if op == "If" else ("body",):
            attribute = node.attribute.add(name=name, type=AttributeProto.GRAPH)
            attribute.g.CopyFrom(inner)
            if rng.random() < 0.5:
                del attribute.g.input[:]
        inner = helper.make_graph([node], "outer", list(inner.input), list(inner.output))
        if inner.ByteSize() > 2**18:
            break
    if rng.random() < 0.8:
        inner.input.append(helper.make_tensor_value_info("cond", TensorProto.BOOL, []))
    model.graph.CopyFrom(inner)


@mutation
def functions(model: onnx.ModelProto, rng: random.Random) -> None:
    """Define a function, which may call itself, and perhaps call it."""
    called = rng.choice(("Relu", "Recurring", "NoSuchOperator"))
    body = onnx.NodeProto(op_type=called, domain="own" if called == "Recurring" else "")
    body.input.append("a")
    body.output.append("b")
    function = model.functions.add(name="Recurring", domain="own", node=[body])
    function.input.append("a")
    function.output.append(rng.choice(("b", "nowhere")))
    function.opset_import.add(domain="", version=rng.choice(OPSETS))
    model.opset_import.add(domain="own", version=1)
    if rng.random() < 0.8:
        node = _node(model, rng)
        node.op_type, node.domain = "Recurring", "own"
    if rng.random() < 0.2:
        model.ClearField("graph")


@mutation
def rarities(model: onnx.ModelProto, rng: random.Random) -> None:
    """Add what few models have: sparse tensors, training, annotations, metadata, devices."""
    action = rng.choice(("sparse", "training", "annotation", "metadata", "sparse attribute"))
    if action == "sparse":
        sparse = model.graph.sparse_initializer.add(dims=[rng.choice(EXTREME_INTS)])
        sparse.values.name = rng.choice(_names(model))
    elif action == "training":
        model.training_info.add().algorithm.CopyFrom(model.graph)
        if rng.random() < 0.5:
            model.ClearField("graph")
    elif action == "annotation":
        model.graph.quantization_annotation.add(tensor_name=rng.choice(_names(model)))
    elif action == "metadata":
        model.metadata_props.add(key="a\nb", value="\x1b[0m")
    else:
        node = _node(model, rng)
        attribute = node.attribute.add(name="sparse_value", type=AttributeProto.SPARSE_TENSOR)
        attribute.sparse_tensor.dims.append(rng.choice(EXTREME_INTS))
