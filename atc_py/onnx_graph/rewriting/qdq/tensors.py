"""The tensors of a quantized model: as codes, as real numbers, and as the file has them.

A tensor that DequantizeLinear makes is kept as its int8 codes, and becomes real numbers
where something reads these. uint8 codes are held as int8: 128 less, and so is their zero point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from atc_py.ir import ConstData, DeferredConst
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.tensors import known_type
from atc_py.onnx_graph.rewriting.qdq.parameters import (
    MIDDLE,
    NoCounterpartError,
    Parameters,
    Reason,
    dequantizing,
    other_scale,
    quantizing,
    recoding,
    widening,
)
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.text import Text


class Stored(msgspec.Struct, frozen=True, eq=False):
    """A tensor that the file holds as codes."""

    name: str  # the int8 (or, of a constant, int32) tensor that holds them
    kind: DType  # dtype that the file has for them; of uint8 ones `name` holds 128 less
    const: ConstData | None = None  # their data where that is known
    # the offset of the AscendQuant that they come from; None if they do not come from one
    offset: int | None = None


class Codes(msgspec.Struct, frozen=True, eq=False):
    """Real numbers that are (code - zero) * scale."""

    stored: Stored
    parameters: Parameters  # as the codes are held, so int8 where the file has uint8
    origin: OnnxNode  # the node that makes the real numbers


class KnownTensors:
    """Knowledge of the tensors while the graph is rewritten."""

    def __init__(self, writer: Writer) -> None:
        self.codes: dict[str, Codes] = {}  # of real tensors, by their names in the file
        self.refused: set[str] = set()  # results of nodes that stay as they are
        self._stored: dict[str, tuple[Stored, OnnxNode]] = {}
        self._writer = writer
        self._graph: OnnxGraph = writer.graph
        self._written: set[str] = set()
        self._quantized: dict[tuple[object, ...], Stored] = {}
        self._real: set[str] = set()
        self._recoded: dict[tuple[str, int], str] = {}

    def stored(self, name: str) -> Stored | None:
        """The codes with that name in the file, if known."""
        entry = self._stored.get(name)
        return None if entry is None else entry[0]

    def const(self, name: str) -> ConstData | None:
        """The constant called `name`, or its codes; None for what is computed."""
        codes = self.codes.get(name)
        return self._graph.consts.get(name) if codes is None else codes.stored.const

    def store(self, name: str, stored: Stored, origin: OnnxNode) -> None:
        """Record the codes named `name` in the file, computed by `origin`."""
        self._stored[name] = stored, origin
        self.hold(name, stored)

    def hold(self, name: str, stored: Stored) -> None:
        """Record that codes are those of a tensor of the file."""
        if stored.name != name:
            held = self._graph.held
            held[stored.name] = (*held.get(stored.name, ()), name)

    def not_codes(self, name: str, otherwise: Text) -> NoCounterpartError:
        """The reason why an operand is not int8 codes: it cannot be rewritten, or `otherwise`."""
        return NoCounterpartError(Reason.NOT_REWRITTEN if name in self.refused else otherwise)

    # QuantizeLinear and DequantizeLinear --------------------------------------------------------

    def quantize(self, node: OnnxNode, parameters: Parameters) -> None:
        """Rewrite QuantizeLinear: existing codes, codes of a constant, or AscendQuant."""
        x, y, kind = node.input_names[0], node.output_names[0], parameters.kind
        signed, codes = parameters.signed, self.codes.get(x)
        if codes is not None and codes.parameters.key == signed.key:
            held = codes.stored
            self.store(y, Stored(held.name, kind, held.const, held.offset), node)
            return
        self.as_real(x)
        const, key = self._graph.consts.get(x), (x, signed.key)
        if const is not None:
            name = self._writer.derived(f"{y}/codes", const, DType.INT8, signed.quantized)
            self.store(y, Stored(name, kind, self._graph.consts[name]), node)
            return
        if key not in self._quantized:
            self._quantized[key] = self._quant(node, parameters)
        held = self._quantized[key]
        self.store(y, Stored(held.name, kind, None, held.offset), node)

    def _quant(self, node: OnnxNode, parameters: Parameters) -> Stored:
        """An AscendQuant, which writes the name in the file where that is int8, too."""
        x, y, kind, signed = (
            node.input_names[0],
            node.output_names[0],
            parameters.kind,
            parameters.signed,
        )
        offset = signed.offset if signed.axis is None else None
        numbers = quantizing(signed)
        if numbers is None:
            x, numbers = self._rounding_input(node, signed), recoding(offset or 0)
        name = y if kind is DType.INT8 else self._writer.fresh(f"{y}/int8")
        self._writer.op(node, "AscendQuant", [x], name, **numbers)
        return Stored(name, kind, None, offset)

    def _rounding_input(self, node: OnnxNode, parameters: Parameters) -> str:
        """The value that AscendQuant rounds: x / scale, plus zero if per channel."""
        x, y, writer = node.input_names[0], node.output_names[0], self._writer
        scale, zero = self._channels(x, parameters)
        with np.errstate(all="ignore"):
            factor = (1 / scale.astype(np.float64)).astype(scale.dtype)
        if not np.isfinite(factor).all():
            raise other_scale(f"too small ({scale.min():g})")
        name = writer.const(f"{y}/factor", factor)
        real = writer.op(node, "Mul", [x, name], writer.fresh(f"{y}/divided"))
        if parameters.axis is None or not zero.any():
            return real
        plus = writer.const(f"{y}/zero", zero)
        return writer.op(node, "Add", [real, plus], writer.fresh(f"{y}/sum"))

    def dequantize(self, node: OnnxNode, parameters: Parameters) -> None:
        """Note DequantizeLinear: nothing is written before something reads the real numbers."""
        x, y = node.input_names[0], node.output_names[0]
        stored = self.stored(x)
        if x not in self._graph.consts and (stored is None or stored.const is None):
            if parameters.kind is DType.INT32:
                raise NoCounterpartError(Reason.SUMS_NOT_CONSTANT)
            if parameters.axis is not None:
                self._channels(x, parameters)
        self.codes[y] = Codes(self.held(node, x, parameters), parameters.signed, node)

    def held(self, node: OnnxNode, x: str, parameters: Parameters) -> Stored:
        """The codes called `x` in the file, which may be fed or computed by other means."""
        known = self.stored(x)
        if known is not None:
            return known
        const = self._graph.consts.get(x)
        if parameters.kind is not DType.UINT8:
            return Stored(x, parameters.kind, const)
        if const is None:
            zero = parameters.offset if parameters.axis is None else 0
            offset = zero - MIDDLE
            return Stored(self._recode(node, x, zero, offset), DType.UINT8, None, offset)
        name = self._writer.derived(f"{x}/codes", const, DType.INT8, _as_int8)
        stored = Stored(name, DType.UINT8, self._graph.consts[name])
        self.store(x, stored, node)
        return stored

    def zero_adjusted(self, codes: Codes) -> str:
        """The codes as an AscendQuant returns them if its offset is their zero point.

        The compiler reads zero points from AscendQuant; codes that come from none have 0 for it.
        """
        zero = codes.parameters.offset
        if zero == (codes.stored.offset or 0):
            return codes.stored.name
        return self._recode(codes.origin, codes.stored.name, zero, zero)

    def _recode(self, node: OnnxNode, x: str, zero: int, offset: int) -> str:
        """Codes less `zero`, through an AscendQuant that adds `offset`; exact.

        A reader of the result takes from the AscendQuant which code represents 0.
        """
        key, writer = (x, zero), self._writer
        if key not in self._recoded:
            real = writer.op(node, "Cast", [x], writer.fresh(f"{x}/real"), to=TensorProto.FLOAT16)
            if zero:
                minus = writer.const(f"{x}/zero", np.array(zero, np.float16))
                real = writer.op(node, "Sub", [real, minus], writer.fresh(f"{x}/apart"))
            name = writer.fresh(f"{x}/int8")
            writer.op(node, "AscendQuant", [real], name, **recoding(offset))
            self._recoded[key] = name
        return self._recoded[key]

    # What other nodes read ----------------------------------------------------------------------

    def as_there(self, name: str) -> None:
        """Write the tensor of that name in the form that the file has."""
        if name in self._written:
            return
        self._written.add(name)
        if name in self.codes:
            self.as_real(name)
        elif name in self._stored:
            self._as_filed(name)

    def as_real(self, name: str) -> None:
        """Compute the real numbers called `name`, where they are held as codes."""
        codes = self.codes.get(name)
        if codes is None or name in self._graph.consts:
            return
        parameters, const, node = codes.parameters, codes.stored.const, codes.origin
        if const is not None:
            self._put_const(name, const, parameters.real, parameters.dequantized)
        elif name not in self._real:
            self._real.add(name)
            numbers = dequantizing(parameters)
            if numbers is None:
                self._multiplied(name, codes)
            else:
                self._writer.op(node, "AscendAntiQuant", [codes.stored.name], name, **numbers)

    def _multiplied(self, name: str, codes: Codes) -> None:
        """Write (code - zero) * scale, in one step each."""
        writer, node, parameters = self._writer, codes.origin, codes.parameters
        scale, zero = self._channels(node.input_names[0], parameters)
        real = writer.fresh(f"{name}/real")
        offset = parameters.offset if parameters.axis is None else 0
        numbers = widening(parameters.real, offset)
        writer.op(node, "AscendAntiQuant", [codes.stored.name], real, **numbers)
        if parameters.axis is not None and zero.any():
            minus = writer.const(f"{name}/zero", zero)
            real = writer.op(node, "Sub", [real, minus], writer.fresh(f"{name}/apart"))
        writer.op(node, "Mul", [real, writer.const(f"{name}/scale", scale)], name)

    def _as_filed(self, name: str) -> None:
        """Write the codes called `name` in the file's dtype: int8 or uint8."""
        (stored, node), writer = self._stored[name], self._writer
        if stored.name == name or name in self._graph.consts or name in self._graph.inputs:
            return
        if stored.const is not None:
            compute = _as_uint8 if stored.kind is DType.UINT8 else np.asarray
            self._put_const(name, stored.const, stored.kind, compute)
        elif stored.kind is not DType.UINT8:
            writer.op(node, "Identity", [stored.name], name)
        else:
            wide = writer.fresh(f"{name}/int32")
            writer.op(node, "Cast", [stored.name], wide, to=TensorProto.INT32)
            middle = writer.const(f"{name}/middle", np.array(MIDDLE, np.int32))
            moved = writer.op(node, "Add", [wide, middle], writer.fresh(f"{name}/moved"))
            writer.op(node, "Cast", [moved], name, to=TensorProto.UINT8)

    def _put_const(self, name: str, const: ConstData, dtype: DType, compute: Any) -> None:
        computed = DeferredConst(dtype, const.shape, [const], compute, "codes")
        self._graph.consts[name] = computed

    def _channels(self, x: str, parameters: Parameters) -> tuple[NDArray[Any], NDArray[Any]]:
        """Scales and zero points as real numbers that broadcast over `x`."""
        known, rank, real = known_type(self._graph, x), 0, parameters.real.numpy
        if parameters.axis is not None:
            if known is None or known.dims is None:
                raise NoCounterpartError(Reason.DATA_PER_CHANNEL)
            rank = len(known.dims)
        scale = parameters.along(parameters.scale, rank).astype(real)
        return scale, parameters.along(parameters.zero, rank).astype(real)


def _as_int8(codes: NDArray[Any]) -> NDArray[Any]:
    moved: NDArray[Any] = (codes.astype(np.int16) - MIDDLE).astype(np.int8)
    return moved


def _as_uint8(codes: NDArray[Any]) -> NDArray[Any]:
    moved: NDArray[Any] = (codes.astype(np.int16) + MIDDLE).astype(np.uint8)
    return moved
