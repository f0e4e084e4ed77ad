"""Parameters of Ascend's operators: steps of int8 tensors, and factors of int32 sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import NO_QDQ_FORM, AtcError
from atc_py.ir import ConstData
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.onnx_graph.rewriting.qdq.movement import MOVING
from atc_py.options.compile_options import QuantBias
from atc_py.tensor.scale_words import decode_graph, decode_hardware
from atc_py.text import Text

_INT8 = range(-128, 128)
_KEEP = Text("`check` and `convert` take the model unchanged")
_SIGNED_RESULT = 64
"""The offset of weights that bit 46 of a hardware word looks like; every word has it set."""


@dataclass(frozen=True, slots=True)
class Steps:
    """An int8 tensor stands for (code - zero) * scale."""

    scale: np.float32
    zero: int


@dataclass(frozen=True, slots=True, eq=False)
class SumFactors:
    """Factors of int32 sums; the arrays are lists of one length."""

    scale: NDArray[np.float64]  # factors as float64
    offset_w: NDArray[np.int64]  # offsets of the weights of the layer
    zero: int = 0  # offset of the int8 result of AscendRequant; 0 of AscendDequant

    @property
    def as_one(self) -> SumFactors:
        """The same, as one factor where all are equal."""
        if (self.scale != self.scale[0]).any() or (self.offset_w != self.offset_w[0]).any():
            return self
        return SumFactors(self.scale[:1], self.offset_w[:1], self.zero)


def no_form(node: OnnxNode, template: str, help_: Text = _KEEP, /, **values: object) -> AtcError:
    """The refusal of a node; the template continues after the operator's name."""
    return NO_QDQ_FORM.error(
        Text(
            "{field} {message}",
            field=node.place.op_type,
            message=Text(template).with_values(**values),
        ),
        place=node.place,
        help=help_,
    )


def quant_steps(node: OnnxNode) -> Steps:
    """Scale and zero point of the result of an AscendQuant."""
    for name, allowed in (("round_mode", "Round"), ("dst_type", "INT8")):
        actual = node.text(name, allowed)
        if actual != allowed:
            raise no_form(
                node,
                "must have the {name} {allowed}, found {actual}",
                name=name,
                allowed=allowed,
                actual=actual,
            )
    factor = _factor(node)
    return Steps(
        inverse(factor, lambda scale: np.float32(1.0 / np.float64(scale))), _zero_point(node)
    )


def anti_quant_steps(node: OnnxNode) -> Steps:
    """Scale and zero point of the input of an AscendAntiQuant."""
    scale = np.float32(_factor(node))
    if not scale > 0 or not np.isfinite(scale):
        raise no_form(
            node, "must have a positive float32 scale, found {factor}", factor=f"{_factor(node):g}"
        )
    return Steps(scale, _zero_point(node))


def inverse(factor: float, again: Callable[[np.float32], np.float32]) -> np.float32:
    """The float32 nearest to 1 / factor, or a neighbor from which `again` restores it."""
    nearest = np.float32(1.0 / factor)
    below, above = (np.float32(np.nextafter(nearest, np.float32(end))) for end in (0, np.inf))
    wanted = np.float32(factor)
    return next(
        (scale for scale in (nearest, below, above) if scale and again(scale) == wanted), nearest
    )


def dequant_factors(node: OnnxNode, const: ConstData | None) -> SumFactors:
    """The factors of an AscendDequant: words, or float16 that sqrt_mode squares."""
    words = _constant(node, const)
    if words.dtype == np.float16:
        scale = words.astype(np.float64) ** (2 if flag(node, "sqrt_mode") else 1)
        return SumFactors(_positive(node, scale), np.zeros(words.shape, np.int64))
    if words.dtype != np.uint64:
        raise no_form(
            node, "must have uint64 or float16 deq_scale, found {dtype}", dtype=words.dtype.name
        )
    parts = decode_graph(words)
    # Words in the hardware's packing may occur here, too; they have no offsets of weights.
    is_hardware = (parts.offset_w == _SIGNED_RESULT).all() and not (words & np.uint64(0x1FFF)).any()
    offset = np.zeros_like(parts.offset_w) if is_hardware else parts.offset_w
    if parts.shift.any():
        raise no_form(
            node, "must have factor words without a shift, found {max}", max=parts.shift.max()
        )
    return SumFactors(_positive(node, parts.scale.astype(np.float64)), offset)


def requant_factors(node: OnnxNode, const: ConstData | None) -> SumFactors:
    """The factors of an AscendRequant, and the offset of its result."""
    words = _constant(node, const)
    if words.dtype != np.uint64:
        raise no_form(node, "must have uint64 req_scale, found {dtype}", dtype=words.dtype.name)
    parts = decode_hardware(words)
    offsets = np.unique(parts.offset)
    if offsets.size != 1 or int(offsets[0]) not in _INT8:
        actual = ", ".join(map(str, offsets[:4]))
        raise no_form(
            node,
            "must have a single offset within int8 in its factor words, found {actual}",
            actual=actual,
        )
    none = np.zeros(words.shape, np.int64)
    return SumFactors(_positive(node, parts.scale.astype(np.float64)), none, int(offsets[0]))


def constant_input(node: OnnxNode, known: Mapping[str, ConstData]) -> ConstData | None:
    """The second input, factors or words, where it is constant."""
    return known.get(node.input_name(1))


def flag(node: OnnxNode, name: str) -> bool:
    """An attribute that is an integer in a file, false by default."""
    return bool(node.integer(name))


NO_STEPS = Steps(np.float32(1), 0)
"""Steps of codes that come from no AscendQuant; the weights' scale makes up for any scale here."""

_CHOOSES = MOVING | {"Where"}
"""ONNX's operators on int8 whose results are elements of their data."""


@dataclass(slots=True)
class CodeSteps:
    """Steps by the names of values.

    Where biases are unfolded, the zero point of a layer's data must be the one that the compiler
    folds in. The compiler follows it through movement alone, and so does this class. Where biases
    are folded, any zero point gives the same numbers, so a node with one zero point keeps it.
    """

    quant_bias: QuantBias  # the convention of the graph's biases
    _known: dict[str, Steps] = field(default_factory=dict)
    _unclear: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def note(self, name: str, steps: Steps) -> None:
        self._known[name] = steps

    def of(self, layer: OnnxNode, name: str) -> Steps:
        """The steps of a layer's input, or NO_STEPS; refused where several offsets meet there.

        Raises:
            AtcError: NO_QDQ_FORM where codes of several offsets meet there.
        """
        if name in self._unclear:
            actual = " and ".join(map(str, self._unclear[name]))
            raise no_form(
                layer, "must have data with a single offset, found {actual}", actual=actual
            )
        return self._known.get(name, NO_STEPS)

    def follow(self, node: OnnxNode, computed: Iterable[str], results: Iterable[str]) -> None:
        """Carry the steps of int8 values on to the int8 results of a node that stays as it is.

        `computed` are the int8 values that it reads and that are not constants.
        """
        if self.quant_bias is QuantBias.FOLDED:
            steps = {own for name in node.reads if (own := self._known.get(name))}
            if len(steps) == 1:
                self._known.update(dict.fromkeys(results, next(iter(steps))))
            return
        sources = list(computed)
        known = [self._known.get(name, NO_STEPS) for name in sources]
        zeros = {steps.zero for steps in known}
        zeros.update(zero for name in sources for zero in self._unclear.get(name, ()))
        moves = not node.domain and node.op_type in _CHOOSES
        if len(zeros) > 1 or (node.holds_graphs and zeros - {0}):
            self._unclear.update(dict.fromkeys(results, tuple(sorted(zeros))))
        elif moves and known:
            one = known[0] if len(set(known)) == 1 else Steps(np.float32(1), known[0].zero)
            self._known.update(dict.fromkeys(results, one))


def _factor(node: OnnxNode) -> float:
    """The attribute scale, with sqrt_mode its square."""
    scale = _number(node, "scale")
    if not scale > 0 or not np.isfinite(scale):
        raise no_form(node, "must have a positive scale, found {scale}", scale=f"{scale:g}")
    return scale * scale if flag(node, "sqrt_mode") else scale


def _zero_point(node: OnnxNode) -> int:
    offset = _number(node, "offset")
    if not offset.is_integer() or int(offset) not in _INT8:
        raise no_form(
            node, "must have a whole offset from -128 to 127, found {offset}", offset=f"{offset:g}"
        )
    return int(offset)


def _number(node: OnnxNode, name: str) -> float:
    """An attribute that must be there."""
    number = node.plain_attributes.get(name)
    if not isinstance(number, int | float):
        raise no_form(node, "needs the attribute {name}", name=name)
    return float(number)


def _constant(node: OnnxNode, const: ConstData | None) -> NDArray[Any]:
    if const is None:
        raise no_form(node, "must have constant factors, found computed ones")
    return const.numpy().reshape(-1)


def _positive(node: OnnxNode, scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """`scale`, which must be a scale for QuantizeLinear, too."""
    wrong = scale[~((scale > 0) & np.isfinite(scale))]
    if wrong.size or not scale.size:
        actual = f"{wrong.flat[0]:g}" if wrong.size else Text("none")
        raise no_form(node, "must have positive factors, found {actual}", actual=actual)
    return scale
