"""Operands of the cube's operators: their dtypes, floats or int8 with int32, HF32, and exact products.

HF32 is the float32 of fewer digits that the cube multiplies faster. It has a sign, 8 bits of exponent
and 11 of fraction (ATC guide, `--allow_hf32`); it is in the 32 bits of a float32 whose last 12 are 0.
CANN publishes two ways of rounding to it (interface of `SetHF32TransMode`): to the nearest with ties to
even, or with ties away from even ones. The convolutions of its open operator repository choose the
first, and it is taken for all of them and for matrix products here. The product of two such numbers is
exact in float32; sums and the bias stay float32. How the cube treats subnormal numbers and what rounds
up beyond the largest number is not published: they are rounded like the others, and it becomes infinite
(inferred).

Products of int8 matrices are computed by BLAS in float32, which holds every integer up to 2^24 in
magnitude. As long as the magnitudes of the terms of a sum add up to no more, each partial sum in
whatever order is such an integer, so nothing is ever rounded. Longer sums are cut into parts that keep
to this; the parts become int32 and are added as int32. int8 reaches from -128 to 127, so a part has
1024 terms at least where both factors are int8, and 258 where both are differences of two int8.
Measured, cut products take no longer than whole ones in float32, and half as long as products in
float64. Of one row by a long matrix a second part would be felt; there it is the lengths of the vectors
at hand that tell whether float32 holds the whole sum, see `proven_terms`. A sum beyond int32 wraps
around in two's complement, as additions of int32 do. What the cube does there is not documented; fewer
than 2^17 products of int8 cannot get there without a bias.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Generic, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Launch, Workspace, sequence
from atc_py.device.sim.primitives.window import Window, window_of
from atc_py.device.sim.typing_rules import one_dtype, require_rank
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.system.structs import replace
from atc_py.target.row import rounds_to_hf32
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

_BIAS, _OFFSET_W = 2, 3

_NARROW = frozenset({DType.FLOAT16, DType.BFLOAT16})

_INTEGERS: Mapping[int, tuple[str, DType]] = {
    1: (Text("the second operand"), DType.INT8),
    _BIAS: ("bias", DType.INT32),
    _OFFSET_W: ("offset_w", DType.INT8),
}
"""Dtypes of the other operands beside int8 data, by position."""


def result_dtype(node: NodeView) -> DType:
    """The dtype of a node's result: int32 for int8 data, else the operands' dtype.

    16-bit floats may have a float32 bias, and may return the float32 sums themselves.
    """
    if node.x.dtype is DType.INT8:
        return _integer_dtype(node)
    if not node.x.dtype.is_float:
        text = Text("the kernel computes floats and int8, found {found}")
        raise NodeError(text.with_values(found=node.x.dtype.value))
    if node.input(_OFFSET_W) is not None:
        text = Text("offset_w is for quantized operands, found {found}")
        raise NodeError(text.with_values(found=node.x.dtype.value))
    node.expect("offset_x", 0)
    one_dtype(node.present[:_BIAS])
    sums = node.x.dtype in _NARROW and node.outputs[0].dtype is DType.FLOAT32
    _check_bias(node, sums=sums)
    return DType.FLOAT32 if sums else node.x.dtype


def _check_bias(node: NodeView, *, sums: bool) -> None:
    bias = node.input(_BIAS)
    if bias is None or bias.dtype is DType.FLOAT32:
        return
    if sums:
        text = Text("bias must be float32 with float32 sums, found {found}")
        raise NodeError(text.with_values(found=bias.dtype.value))
    one_dtype(node.present)


def _integer_dtype(node: NodeView) -> DType:
    for position, (name, wanted) in _INTEGERS.items():
        facts = node.input(position)
        if facts is not None and facts.dtype is not wanted:
            text = Text("{name} must be {wanted} with int8, found {found}")
            raise NodeError(
                text.with_values(name=name, wanted=wanted.value, found=facts.dtype.value)
            )
    offset = node.integer("offset_x")
    if not -128 <= offset <= 127:  # noqa: PLR2004  (the range of int8)
        raise NodeError(Text("offset_x must be in [-128, 127], found {found}", found=offset))
    return DType.INT32


def check_channels(node: NodeView, channels: int) -> None:
    """Check that bias and offset_w, where present, have an element per output channel.

    offset_w may be one element for all channels.
    """
    bias, offset = node.input(_BIAS), node.input(_OFFSET_W)
    if bias is not None and bias.shape != (channels,):
        text = Text("bias must have shape {shape}, found {found}")
        raise NodeError(text.with_values(shape=channels, found=bias))
    if offset is not None and offset.shape not in {(1,), (channels,)}:
        text = Text("offset_w must have shape 1 or {shape}, found {found}")
        raise NodeError(text.with_values(shape=channels, found=offset))


_FORMATS = {4: "NCHW", 5: "NCDHW"}
"""Format of the data of a convolution, by rank."""


def convolution_operands(node: NodeView, rank: int = 4) -> tuple[TensorFacts, TensorFacts, DType]:
    """Data, filter and dtype of the result, once what all convolutions share holds."""
    x, weights = node.x, node.required(1)
    dtype = result_dtype(node)
    require_rank(x, rank, "x")
    require_rank(weights, rank, "filter")
    if not weights.elements:
        raise NodeError(Text("filter must have elements, found {found}", found=weights))
    node.expect("data_format", _FORMATS[rank])
    return x, weights, dtype


def filter_window(node: NodeView) -> Window:
    height, width = node.required(1).shape[2:]
    return window_of(node, (height, width))


FRACTION_BITS = 11
"""Bits after the leading one."""

_CUT = np.uint32(23 - FRACTION_BITS)
_ONE = np.uint32(1)
_BELOW_HALF = np.uint32((1 << (22 - FRACTION_BITS)) - 1)
_KEPT = np.uint32(0xFFFFFFFF << (23 - FRACTION_BITS) & 0xFFFFFFFF)

_OPERANDS = (0, 1)
"""What the cube multiplies: data and weights, or the two matrices."""


def multiplies_hf32(call: Call) -> bool:
    """True if a node of the cube rounds its float32 operands to HF32."""
    return rounds_to_hf32(call.node.attributes) and call.node.x.dtype is DType.FLOAT32


def with_hf32(call: Call, bind: Callable[[Call], Launch]) -> Launch:
    """The launch of `bind` on operands in HF32, where the node multiplies these.

    What holds the same data in every launch is rounded once.
    """
    if not multiplies_hf32(call):
        return bind(call)
    refresh: list[Launch] = []
    inputs = list(call.inputs)
    for position in _OPERANDS:
        array = call.input(position)
        if position in call.fixed:
            call.workspace.require(array.nbytes, Text("weights in HF32"))
            inputs[position] = round_to_hf32(array)
            continue
        held = call.workspace.take(f"hf32 {position}", array.shape, np.float32)
        refresh.append(partial(round_to_hf32, array, held))
        inputs[position] = held
    return sequence([*refresh, bind(replace(call, inputs=tuple(inputs)))])


def round_to_hf32(
    array: NDArray[np.float32], out: NDArray[np.float32] | None = None
) -> NDArray[Any]:
    """Float32 numbers rounded to HF32, half to even, as float32; NaN stays NaN."""
    if out is None:
        out = np.empty(array.shape, np.float32)
    bits, rounded = array.view(np.uint32), out.view(np.uint32)
    np.right_shift(bits, _CUT, out=rounded)
    np.bitwise_and(rounded, _ONE, out=rounded)
    np.add(rounded, _BELOW_HALF, out=rounded)
    np.add(rounded, bits, out=rounded)
    np.bitwise_and(rounded, _KEPT, out=rounded)
    odd = np.isnan(array)
    if odd.any():
        out[odd] = array[odd]
    return out


_T = TypeVar("_T")


class _PerConstant(Generic[_T]):
    """Results worked out once for each constant of a model, and freed with it."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Shape], tuple[ref[NDArray[Any]], _T]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, constant: NDArray[Any], strides: Shape, make: Callable[[], _T]) -> _T:
        """Result of `make`, kept, for all of `constant`, read by `strides`."""
        key = id(constant), strides
        known = self._known.get(key)
        if known is not None and known[0]() is constant:
            return known[1]
        made = make()
        self._known[key] = ref(constant, lambda _: self._known.pop(key, None)), made
        return made


_FLOATS: _PerConstant[NDArray[np.float32]] = _PerConstant()
"""Constants in float32."""

_SQUARES: _PerConstant[float] = _PerConstant()
"""The largest sum of squares of a column of such a constant."""

INT8 = 128
"""The largest magnitude of an int8."""

DIFFERENCE = 255
"""The largest magnitude of a difference of two int8."""

_EXACT = 1 << 24
"""The magnitude up to which float32 holds all integers."""

_WIDENED_AT_ONCE = 128 * 1024
"""Elements below which widening is not worth sharing."""


def exact_terms(left: int, right: int) -> int:
    """Number of products of factors up to these magnitudes that float32 sums exactly."""
    return _EXACT // (left * right)


def proven_terms(left: NDArray[Any], right: NDArray[Any], terms: int) -> int:
    """Number of products of these factors that float32 sums exactly: `terms`, or all.

    By Cauchy and Schwarz the magnitudes of the terms of a sum add up to no more than the product of
    the lengths of its two vectors. Codes of a quantizer are far shorter than vectors of 128.

    Args:
        left: [..., m, k] of integers in float32; its rows are measured in each call.
        right: [..., k, n], likewise; its columns are measured once, and only if it is a constant:
            what `widened_weights` keeps, or its transpose.
        terms: how many add up exactly whatever the factors are, see `exact_terms`.
    """
    inner = left.shape[-1]
    if inner <= terms or right.flags.writeable or not left.size * right.size:
        return terms
    rounding = 1 + inner * 2.0**-23  # more than sums of so many squares can lose in float32
    whole = right if right.base is None else right.base
    columns = _SQUARES.of(whole, right.strides, lambda: _longest(right, "...kn,...kn->...n"))
    squares = _longest(left, "...mk,...mk->...m") * columns
    return inner if squares * rounding**2 <= float(_EXACT) ** 2 else terms


def _longest(vectors: NDArray[Any], axes: str) -> float:
    if vectors.shape[:-1] == (1,):
        return float(np.vdot(vectors, vectors))  # the same, five times as fast for a lone row
    return float(np.einsum(axes, vectors, vectors).max())


def widened(
    call: Call, name: str, source: NDArray[Any], minus: NDArray[Any] | None = None
) -> NDArray[np.float32]:
    """`source`, int8 in C order, or `source` - `minus`, in float32, done on all workers if large.

    The workspace of the call holds the result under `name`.
    """
    if minus is None and source.size < _WIDENED_AT_ONCE:
        return source.astype(np.float32)
    target = call.workspace.take(name, source.shape, np.float32)
    _widen(call, source, target, minus)
    return target


def widened_weights(
    call: Call, source: NDArray[Any], minus: NDArray[Any] | None = None
) -> NDArray[np.float32]:
    """The same as `widened`, kept while `source` lives if that is a model's constant.

    Constants are what can only be read. Their float32 forms take as much memory as the carriers
    of float16 constants do.
    """
    if minus is not None or source.flags.writeable:
        return widened(call, "weights", source, minus)

    def make() -> NDArray[np.float32]:
        floats = np.empty(source.shape, np.float32)
        _widen(call, source, floats, None)
        floats.flags.writeable = False
        return floats

    return _FLOATS.of(source, source.strides, make)


def _widen(
    call: Call, source: NDArray[Any], target: NDArray[np.float32], minus: NDArray[Any] | None
) -> None:
    if minus is not None:
        np.subtract(source, minus.astype(np.float32), out=target)
        return
    given, flat = source.reshape(-1), target.reshape(-1)

    def part(start: int, stop: int) -> None:
        np.copyto(flat[start:stop], given[start:stop])

    call.workers.split(flat.size, part, least=_WIDENED_AT_ONCE)


def exact_matmul(
    left: NDArray[Any],
    right: NDArray[Any],
    out: NDArray[np.int32],
    terms: int,
    workspace: Workspace,
) -> None:
    """Fill `out` [..., m, n] with `left` @ `right`, exactly and modulo 2^32.

    These are [..., m, k] and [..., k, n] of integers in float32, which adds up `terms` products
    exactly, see `exact_terms`.
    """
    product = workspace.lines("product", out.shape, np.float32)
    np.matmul(left[..., :terms], right[..., :terms, :], out=product)
    np.copyto(out, product, casting="unsafe")
    if left.shape[-1] <= terms:
        return
    integers = workspace.take("integers", out.shape, np.int32)
    for start in range(terms, left.shape[-1], terms):
        some = slice(start, start + terms)
        np.matmul(left[..., some], right[..., some, :], out=product)
        np.copyto(integers, product, casting="unsafe")
        np.add(out, integers, out=out)
