"""Rules of products of matrices: Gemm, Einsum, Fourier transforms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from atc_py.fix import tables
from atc_py.fix.case import case, data
from atc_py.fix.context import RuleContext
from atc_py.fix.facts import FLOATS
from atc_py.fix.rule import BOUNDED, REORDERED, rule
from atc_py.fix.unfit import require


@rule(
    REORDERED,
    case("Gemm", [2, 3], data(3, 4), [4], alpha=0.5, beta=2.0, cann="5"),
    miss=case("Gemm", [2, 3], data(3, 4), [4], alpha=0.5),
    deviations="Gemm/alpha-ignored Gemm/alpha-ignored-without-c Gemm/beta-ignored",
)
def gemm_factors(ctx: RuleContext) -> Sequence[str]:
    """Gemm with alpha or beta -> Gemm without factors; constant B and C are multiplied, others by
    Mul, if A is float16 or float32.
    """
    ctx.floats(0, "A")
    left, right = ctx.name(0), ctx.name(1)
    alpha = ctx.number("alpha", 1.0)
    if ctx.input(1).const is None and ctx.input(0).const is not None:
        left = _scale(ctx, 0, alpha)
    else:
        right = _scale(ctx, 1, alpha)
    added = [] if ctx.tensor(2) is None else [_scale(ctx, 2, ctx.number("beta", 1.0))]
    return ctx.again(left, right, *added, alpha=None, beta=None)


def _scale(ctx: RuleContext, position: int, factor: float) -> str:
    if factor == 1.0:
        return ctx.name(position)
    if ctx.input(position).const is None:
        return ctx.times(ctx.name(position), factor, "factor")
    return ctx.derived(position, lambda value: value * factor, ctx.element, "scaled")


_ELLIPSIS = "..."
# Code of the first letter for axes of an ellipsis; equations have ASCII letters.
_FIRST_FREE = 0x100


def terms_of(equation: str, ranks: Sequence[int]) -> tuple[list[str], str, frozenset[str]]:
    """The letters of the operands, those of the result, and those of the ellipsis.

    Axes of an ellipsis are counted from the last. Without a result, it has those axes and then, in
    order, the letters that come up once.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    given = left.split(",")
    require(len(given) == len(ranks), "there is a term for each operand")
    widths = [
        rank - len(term.replace(_ELLIPSIS, "")) if _ELLIPSIS in term else 0
        for term, rank in zip(given, ranks, strict=True)
    ]
    most = max(widths)
    free = "".join(chr(_FIRST_FREE + at) for at in range(most))
    terms = [
        term.replace(_ELLIPSIS, free[most - width :] if width > 0 else "")
        for term, width in zip(given, widths, strict=True)
    ]
    fits = all(len(term) == rank for term, rank in zip(terms, ranks, strict=True))
    require(fits and "." not in "".join(terms), "there is a letter for each axis")
    letters = left.replace(_ELLIPSIS, "").replace(",", "")
    once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
    result = right.replace(_ELLIPSIS, free) if arrow else free + "".join(once)
    known = set(result) <= set("".join(terms)) and len(set(result)) == len(result)
    require(known, "the result has letters of the operands, each once")
    return terms, result, frozenset(free)


@dataclass(frozen=True, slots=True)
class _Operand:
    """A tensor whose axes have letters, each letter once."""

    name: str
    letters: str


@rule(
    REORDERED,
    case("Einsum", [2, 3, 4], [2, 4, 5], equation="bij,bjk->bki", opset=12),
    miss=case("Einsum", [3, 1], [3, 4], equation="ij,ij->i", opset=12),
)
def einsum_as_product(ctx: RuleContext) -> str:
    """Einsum -> Gather of diagonals, ReduceSum, Transpose, Reshape, MatMul, Reshape, Transpose, if
    dims are known; only axes of an ellipsis broadcast.
    """
    ranks = [len(ctx.shape(at)) for at in range(len(ctx.node.inputs))]
    terms, result, free = terms_of(ctx.text("equation", ""), ranks)
    sizes: dict[str, int] = {}
    for position, term in enumerate(terms):
        for letter, dim in zip(term, ctx.shape(position), strict=True):
            known = sizes.setdefault(letter, dim)
            if letter in free and 1 in (known, dim):
                sizes[letter] = max(known, dim)
                continue
            require(known == dim, "dims of a letter are equal")
    operands = [_operand(ctx, at, term, sizes) for at, term in enumerate(terms)]
    x = _sum_out(
        ctx, operands[0], {*result, *(letter for y in operands[1:] for letter in y.letters)}
    )
    for at, operand in enumerate(operands[1:], 2):
        later = {*result, *(letter for y in operands[at:] for letter in y.letters)}
        x = _product(ctx, x, _sum_out(ctx, operand, {*later, *x.letters}), later, sizes)
    return ctx.transpose(x.name, [x.letters.index(letter) for letter in result])


def _operand(ctx: RuleContext, position: int, term: str, sizes: Mapping[str, int]) -> _Operand:
    """An operand without the axes that broadcast, with the diagonals of repeated letters."""
    dims = ctx.shape(position)
    kept = [at for at, letter in enumerate(term) if dims[at] == sizes[letter]]
    x = ctx.name(position)
    if len(kept) < len(term):
        x = ctx.reshape(x, [dims[at] for at in kept])
    letters = "".join(term[at] for at in kept)
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            x, letters = _diagonal(ctx, x, letters, letter, sizes)
    return _Operand(x, letters)


def _diagonal(
    ctx: RuleContext, x: str, letters: str, letter: str, sizes: Mapping[str, int]
) -> tuple[str, str]:
    size = sizes[letter]
    pair = [at for at, own in enumerate(letters) if own == letter][:2]
    others = [at for at in range(len(letters)) if at not in pair]
    x = ctx.transpose(x, [*others, *pair])
    x = ctx.reshape(x, [*(sizes[letters[at]] for at in others), size * size])
    places = ctx.const(tables.arange(size) * (size + 1), label="diagonal")
    x = ctx.op("Gather", x, places, axis=len(others))
    return x, "".join(letters[at] for at in others) + letter


def _sum_out(ctx: RuleContext, x: _Operand, needed: set[str]) -> _Operand:
    """An operand without the letters that nothing else has."""
    gone = [at for at, letter in enumerate(x.letters) if letter not in needed]
    if not gone:
        return x
    name = ctx.reduce("ReduceSum", x.name, gone, keepdims=False)
    return _Operand(name, "".join(letter for letter in x.letters if letter in needed))


def _product(
    ctx: RuleContext, a: _Operand, b: _Operand, later: set[str], sizes: Mapping[str, int]
) -> _Operand:
    both = [letter for letter in a.letters if letter in b.letters]
    batch = [letter for letter in both if letter in later]
    inner = [letter for letter in both if letter not in later]
    rows = [letter for letter in a.letters if letter not in b.letters]
    columns = [letter for letter in b.letters if letter not in a.letters]
    product = ctx.op(
        "MatMul",
        _matrices(ctx, a, [batch, rows, inner], sizes),
        _matrices(ctx, b, [batch, inner, columns], sizes),
    )
    order = [*batch, *rows, *columns]
    return _Operand(ctx.reshape(product, [sizes[letter] for letter in order]), "".join(order))


def _matrices(
    ctx: RuleContext, x: _Operand, groups: list[list[str]], sizes: Mapping[str, int]
) -> str:
    order = [letter for group in groups for letter in group]
    name = ctx.transpose(x.name, [x.letters.index(letter) for letter in order])
    dims = [sizes[group] for group in groups[0]]
    dims += [prod(sizes[letter] for letter in group) for group in groups[1:]]
    return ctx.reshape(name, dims)


_AXIS_AS_INPUT = 20
_LONGEST = 4096


@rule(
    BOUNDED,
    case("DFT", [2, 10, 3, 1], None, axis=1, onesided=1, opset=17),
    miss=case("DFT", [1, 5000, 1], None, axis=1, opset=17),
    boundary=case("DFT", [2, 3, 1, 2], None, axis=2, opset=17),
    bound=1e-4,
    float16="inputs are rounded to 11 bits, sums are float32",
)
def dft_as_product(ctx: RuleContext) -> str:
    """DFT of real or complex signals -> Transpose, Pad or Slice, Reshape, MatMul with the matrix of
    the transform, Reshape, Transpose, if dims, axis and length are known; the length is at most
    4096.

    DFT-17 and DFT-20 of ONNX: y[f] = sum over n of x[n] * exp(-2 pi i f n / N); the inverse has +,
    and 1 / N.

    The bound is that of the reference: onnxruntime's own transform of 400 elements is 3e-5 of the
    range off what float64 gives, the product 2e-7.
    """
    dims = ctx.shape(0)
    require(ctx.element in FLOATS, "the signal is float16 or float32")
    rank, parts = len(dims), dims[-1]
    if ctx.node.opset < _AXIS_AS_INPUT:
        axis = ctx.integer("axis", 1)
    else:
        axis = int(ctx.constant(2)) if ctx.tensor(2) is not None else -2
    require(-rank <= axis < rank, "axis is one of the axes")
    axis %= rank
    require(axis < rank - 1, "the axis is not that of real and imaginary parts")
    size = dims[axis]
    length = int(ctx.constant(1)) if ctx.tensor(1) is not None else size
    require(0 < length <= _LONGEST, "the length is at most 4096", found=length)
    inverse, onesided = ctx.integer("inverse", 0), ctx.integer("onesided", 0)
    require(not (inverse and onesided), "an inverse transform is two-sided")
    count = length // 2 + 1 if onesided else length
    matrix = _matrix(min(size, length), length, count, parts, inverse=bool(inverse))
    order = [*(at for at in range(rank - 1) if at != axis), axis, rank - 1]
    x = ctx.transpose(ctx.name(0), order)
    if length < size:
        x = ctx.slice(x, rank - 2, 0, length)
    outer = [dims[name] for name in order[:-2]]
    rows = ctx.reshape(x, [prod(outer), min(size, length) * parts])
    y = ctx.op("MatMul", rows, ctx.const(matrix, ctx.element, "matrix"))
    y = ctx.reshape(y, [*outer, count, 2])
    return ctx.transpose_back(y, order)


def _matrix(size: int, length: int, count: int, parts: int, *, inverse: bool) -> np.ndarray:
    """The matrix from `size` elements of `parts` parts to `count` of two."""
    angles = 2 * np.pi * tables.outer(tables.arange(size), tables.arange(count)) / length
    sign = 1 if inverse else -1
    cosines, sines = np.cos(angles), sign * np.sin(angles)
    if inverse:
        cosines, sines = cosines / length, sines / length
    real = np.stack([cosines, sines], axis=-1)
    imaginary = np.stack([-sines, cosines], axis=-1)
    both = np.stack([real, imaginary], axis=1)[:, :parts]
    return both.reshape(size * parts, count * 2)


# Ranks of real signals: onnxruntime takes them without an axis for their one part, too.
_REAL = (2, 3)


@rule(
    BOUNDED,
    case("STFT", [2, 60, 1], np.array(8), data(16), np.array(16), opset=17),
    miss=case("STFT", [2, 60, 2], np.array(8), data(16), onesided=0, opset=17),
    boundary=case("STFT", [2, 16, 1], np.array(1), data(16), np.array(16), opset=17),
    bound=1e-4,
    float16="inputs are rounded to 11 bits, sums are float32",
)
def stft_as_convolution(ctx: RuleContext) -> str:
    """STFT of real signals -> Reshape, Conv whose filters are the window times cosines and sines,
    Reshape, Transpose, if step, window and length are constant, dims are known, the signal is
    real.

    STFT-17 of ONNX: y[b, t, f] = sum over n of window[n] * x[b, t * step + n] * exp(-2 pi i f n /
    N).

    The bound is that of the reference: onnxruntime's own transform of 400 elements is 3e-5 of the
    range off what float64 gives, the product 2e-7.
    """
    dims = ctx.shape(0)
    require(ctx.element in FLOATS, "the signal is float16 or float32")
    require(len(dims) in _REAL and dims[2:] in {(), (1,)}, "the signal is real")
    step = int(ctx.constant(1))
    window = ctx.constant(2).astype(np.float64) if ctx.tensor(2) is not None else None
    if ctx.tensor(3) is not None:
        length = int(ctx.constant(3))
    else:
        require(window is not None, "a window or a length is given")
        length = 0 if window is None else len(window)
    require(0 < length <= dims[1] and step > 0, "the signal has a frame")
    count = length // 2 + 1 if ctx.integer("onesided", 1) else length
    angles = 2 * np.pi * tables.outer(tables.arange(count), tables.arange(length)) / length
    waves = np.concatenate([np.cos(angles), -np.sin(angles)])
    if window is not None:
        require(len(window) == length, "the window has the length of a frame")
        waves *= window
    filters = ctx.const(waves.reshape(2 * count, 1, 1, length), ctx.element, "waves")
    rows = ctx.reshape(ctx.name(0), [dims[0], 1, 1, dims[1]])
    y = ctx.op("Conv", rows, filters, kernel_shape=[1, length], strides=[1, step])
    frames = (dims[1] - length) // step + 1
    parts = ctx.reshape(y, [dims[0], 2, count, frames])
    return ctx.transpose(parts, [0, 3, 2, 1])
