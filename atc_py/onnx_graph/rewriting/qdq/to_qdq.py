"""The deploy form back to QuantizeLinear and DequantizeLinear, which any ONNX runtime runs.

AscendQuant becomes QuantizeLinear, AscendAntiQuant DequantizeLinear, a layer on int8 with its
AscendDequant the layer on dequantized codes, AscendRequant that and QuantizeLinear. int32 sums that
a graph reads by other means stay int32: MatMulInteger and ConvInteger.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from onnx import TensorProto

from atc_py.diag import BAD_NODE, NO_QDQ_FORM, AtcError, Place, Sink
from atc_py.ir import ConstData
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.attributes import ASCEND_OPERATORS
from atc_py.onnx_graph.reading.nodes import all_inner_nodes
from atc_py.onnx_graph.reading.tensors import TensorReader, known_type
from atc_py.onnx_graph.rewriting.qdq.ascend import (
    CodeSteps,
    Steps,
    SumFactors,
    anti_quant_steps,
    constant_input,
    dequant_factors,
    flag,
    no_form,
    quant_steps,
    requant_factors,
)
from atc_py.onnx_graph.rewriting.qdq.integer_sums import SumsReader
from atc_py.onnx_graph.rewriting.qdq.raising import changed_operators, move_to_inputs
from atc_py.onnx_graph.rewriting.qdq.real_layers import RealLayers, channel_scale
from atc_py.onnx_graph.rewriting.qdq.wider_numbers import element_of, write_wider
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.onnx_graph.source import Outcome, QuantizedNode
from atc_py.onnx_graph.typing.infer import infer_types
from atc_py.onnx_graph.typing.rules.quantized import is_integer_layer
from atc_py.options.compile_options import QuantBias
from atc_py.tensor.scale_words import channel_axis
from atc_py.text import Text

_PER_AXIS = 13
"""The opset from which on DequantizeLinear has an axis."""

_QUANTIZING = 10
"""The opset from which on there are QuantizeLinear and DequantizeLinear."""

_RESULTS = (0, 1)
"""Values of the attribute dtype: float32, float16."""

_INTEGER_OPERATORS = {"Conv": "ConvInteger", "MatMul": "MatMulInteger"}


def is_deploy_form(operators: Iterable[str]) -> bool:
    """True if a graph with nodes of these operators is in the deploy form."""
    return not ASCEND_OPERATORS.isdisjoint(operators)


def to_qdq(graph: OnnxGraph, tensors: TensorReader) -> tuple[QuantizedNode, ...]:
    """Rewrite `graph`, whose constants need not be folded; return the rewritten layers.

    NO_QDQ_FORM for every node that cannot be rewritten; BAD_MODEL where types contradict each
    other.
    """
    faults = infer_types(graph)
    if faults:
        raise AtcError(*faults)
    return _ToQdq(graph, _known(graph, tensors)).run()


def _known(graph: OnnxGraph, tensors: TensorReader) -> dict[str, ConstData]:
    known = dict(graph.consts)
    for node in graph.nodes:
        if node.domain or node.op_type not in {"Constant", "Identity"}:
            continue
        if node.op_type == "Identity" and node.input_names[0] in known:
            known[node.output_names[0]] = known[node.input_names[0]]
        for attribute in node.proto.attribute:
            if attribute.name == "value" and node.op_type == "Constant":
                known[node.output_names[0]] = tensors.const(attribute.t, node.place)
    return known


class _ToQdq:
    def __init__(self, graph: OnnxGraph, known: Mapping[str, ConstData]) -> None:
        self._graph = graph
        self._known = known
        self._reader = SumsReader(graph, known)
        self._scaled = self._reader.scaled()
        self._writer = Writer(graph)
        self._steps = CodeSteps(graph.quant_bias)
        self._layers = RealLayers(self._writer, known, self._steps)
        self._sink = Sink()
        self._found: list[QuantizedNode] = []
        self._kept: set[str] = set()
        self._kinds: dict[str, Callable[[OnnxNode], None]] = {
            "AscendQuant": self._quant,
            "AscendAntiQuant": self._anti_quant,
            "AscendDequant": self._dequant,
            "AscendRequant": self._requant,
            "AscendDequantS16": self._refuse,
            "AscendRequantS16": self._refuse,
        }

    def run(self) -> tuple[QuantizedNode, ...]:
        for node in self._graph.nodes:
            if node in self._reader.absorbed:
                continue
            try:
                self._rewrite(node)
            except AtcError as error:
                self._sink.extend(error.diagnostics)
        self._sink.raise_errors()
        self._writer.finish()
        import_qdq_opset(self._graph)
        self._sink.extend(write_wider(self._graph, self._kept))
        self._sink.raise_errors()
        return tuple(self._found)

    def _rewrite(self, node: OnnxNode) -> None:
        if node.op_type in self._kinds:
            if not (
                node.input_names
                and node.input_names[0]
                and node.output_names
                and node.output_names[0]
            ):
                message = Text(
                    "{op_type} needs its first input and its output", op_type=node.op_type
                )
                raise BAD_NODE.error(message, place=node.place)
            self._kinds[node.op_type](node)
        elif is_integer_layer(self._graph, node):
            self._integer_layer(node)
        else:
            self._writer.keep(node)
            self._kept.update(node.writes)
            computed = (name for name in node.reads if name not in self._known)
            self._steps.follow(node, self._codes_among(computed), self._codes_among(node.writes))
        if any(
            inner.op_type in ASCEND_OPERATORS for inner in all_inner_nodes(node, self._graph.opsets)
        ):
            raise no_form(node, "has quantized nodes in its subgraphs, which stay as they are")

    def _codes_among(self, names: Iterable[str]) -> list[str]:
        """Those of `names` that are int8."""
        return [name for name in names if element_of(self._graph, name) == TensorProto.INT8]

    def _quant(self, node: OnnxNode) -> None:
        steps, x = quant_steps(node), node.input_names[0]
        if element_of(self._graph, x) == TensorProto.FLOAT16:
            wide = self._writer.fresh(f"{x}/float32")
            x = self._writer.op(node, "Cast", [x], wide, to=TensorProto.FLOAT)
        self._quantize(node, x, steps)

    def _quantize(self, node: OnnxNode, x: str, steps: Steps) -> None:
        """Write QuantizeLinear; its zero point says that codes are int8."""
        y = node.output_names[0]
        scale = channel_scale(self._writer, y, np.array([steps.scale]))
        zero = self._writer.const(f"{y}/zero", np.array(steps.zero, np.int8))
        self._writer.op(node, "QuantizeLinear", [x, scale, zero], y)
        self._steps.note(y, steps)

    def _anti_quant(self, node: OnnxNode) -> None:
        (x, y), steps = (node.input_names[0], node.output_names[0]), anti_quant_steps(node)
        if element_of(self._graph, x) not in {0, TensorProto.INT8}:
            raise no_form(node, "must read int8", Text("let it read codes"))
        scale = channel_scale(self._writer, y, np.array([steps.scale]))
        zero = self._writer.const(f"{y}/zero", np.array(steps.zero, np.int8))
        self._finish(node, y, lambda name: self._writer.op(
            node, "DequantizeLinear", [x, scale, zero], name
        ))  # fmt: skip

    def _dequant(self, node: OnnxNode) -> None:
        factors = dequant_factors(node, constant_input(node, self._known))
        self._finish(node, node.output_names[0], lambda name: self._write_real(node, factors, name))

    def _requant(self, node: OnnxNode) -> None:
        """Rewrite AscendRequant: real numbers are counted in steps of its result."""
        factors = requant_factors(node, constant_input(node, self._known))
        real = self._writer.fresh(f"{node.output_names[0]}/real")
        self._finish(node, real, lambda name: self._write_real(node, factors, name))
        self._quantize(node, real, Steps(np.float32(1), factors.zero))

    def _finish(self, node: OnnxNode, output: str, write: Callable[[str], object]) -> None:
        """Write the real numbers of a node, then what its attributes ask for besides."""
        following: list[tuple[str, dict[str, Any]]] = []
        if flag(node, "relu_flag"):
            following.append(("Relu", {}))
        dtype = node.integer("dtype")
        if dtype not in _RESULTS:
            raise no_form(
                node, "must have the dtype 0 (float32) or 1 (float16), found {dtype}", dtype=dtype
            )
        if dtype:
            following.append(("Cast", {"to": TensorProto.FLOAT16}))
        names = [self._writer.fresh(f"{output}/{op}_input") for op, _ in following]
        write([*names, output][0])
        for (op, attributes), x, y in zip(following, names, [*names, output][1:], strict=False):
            self._writer.op(node, op, [x], y, **attributes)

    def _write_real(self, node: OnnxNode, factors: SumFactors, output: str) -> None:
        if self._graph.opsets.get("", 0) < _PER_AXIS:
            factors = factors.as_one
        sums = self._reader.found.get(node.input_names[0])
        if sums is None:
            self._dequantize_sums(node, factors, output)
            return
        self._layers.write(sums, factors, output)
        layer = sums.layer
        self._found.append(
            QuantizedNode(layer.index, layer.name, layer.op_type, Outcome.INTEGER, None)
        )

    def _dequantize_sums(self, node: OnnxNode, factors: SumFactors, output: str) -> None:
        """Write DequantizeLinear of int32 that is not, or not only, the sums of one layer."""
        x, count, axes = node.input_names[0], factors.scale.size, {}
        if factors.offset_w.any():
            raise no_form(node, "must come after a layer, since its factor words have offset_w")
        if count > 1:
            known = known_type(self._graph, x)
            shape = known.dims if known is not None and known.dims is not None else ()
            axis = channel_axis(tuple(dim or 0 for dim in shape), count)
            if axis is None:
                raise no_form(
                    node,
                    "must have 1 factor where channels are not known, not {count}",
                    count=count,
                )
            axes["axis"] = axis
        scale = channel_scale(self._writer, output, factors.scale.astype(np.float32))
        self._writer.op(node, "DequantizeLinear", [x, scale], output, **axes)

    def _integer_layer(self, node: OnnxNode) -> None:
        """Write a layer whose int32 sums other nodes read."""
        op_type = _INTEGER_OPERATORS.get(node.op_type)
        if op_type is None or len(node.input_names) > len(("data", "weights")):
            help_ = Text("let AscendDequant be the only reader of the sums of this layer")
            raise no_form(node, "on int8 must be dequantized directly after it", help_)
        zero, inputs = self._steps.of(node, node.input_names[0]).zero, list(node.input_names)
        if node.op_type == "Conv" and zero:
            raise no_form(node, "on int8 with an offset must be dequantized directly after it")
        # The compiler folds the offset of the data into unfolded biases of such layers.
        unfolded = self._graph.quant_bias is QuantBias.UNFOLDED
        corrected = (
            unfolded and node.input_names[1] in self._known and node.output_names[0] in self._scaled
        )
        if zero and corrected:
            inputs.append(
                self._writer.const(f"{node.output_names[0]}/zero", np.array(zero, np.int8))
            )
        self._writer.again(node, op_type, inputs, node.output_names, with_own=True)
        self._found.append(
            QuantizedNode(node.index, node.name, node.op_type, Outcome.INTEGER, None)
        )

    def _refuse(self, node: OnnxNode) -> None:
        """Refuse the forms of int16."""
        help_ = Text("quantize with int8 results; ONNX has no such sums of int16")
        raise no_form(node, "works on int16, which has no such form", help_)


def import_qdq_opset(graph: OnnxGraph) -> None:
    """Make a graph with DequantizeLinear import an opset that defines what it uses of it.

    NO_QDQ_FORM where other nodes would mean another thing at that opset.
    """
    own = graph.opsets.get("", 0)
    per_axis = any(
        not node.domain and node.op_type == "DequantizeLinear" and "axis" in node.plain_attributes
        for node in graph.nodes
    )
    needed = _PER_AXIS if per_axis else _QUANTIZING
    if own >= needed:
        return
    changed = changed_operators(graph, _PER_AXIS)
    if not move_to_inputs(graph, changed):
        raise NO_QDQ_FORM.error(
            Text(
                "the model needs opset {needed} for DequantizeLinear but has {own}, and these "
                "operators have another meaning at opset {per_axis}: {changed}",
                needed=needed,
                own=own,
                per_axis=_PER_AXIS,
                changed=", ".join(changed),
            ),
            place=Place(str(graph.path)),
            help=Text(
                "export the model at opset {per_axis} before it is quantized", per_axis=_PER_AXIS
            ),
        )
    graph.opsets = {**graph.opsets, "": _PER_AXIS}
