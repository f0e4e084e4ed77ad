"""Lowering of Einsum of two operands to one product of matrices.

As CANN's own pass does: each operand is turned and reshaped to [batch, free, contracted] or
[batch, contracted, free], multiplied, and the product is reshaped and turned to the result.
Letters in both operands and the result are the batch, letters in both operands alone are
contracted, letters in one operand and the result are free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from atc_py.ir import AttrValue, TensorType, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.onnx_graph.source.equation import Equation, read_equation
from atc_py.spec.rewrites import performs
from atc_py.tensor.shapes import OpenShapeError, format_shape
from atc_py.text import Text

Sizes = Mapping[str, int | None]


_PAIR = 2


@lowering("Einsum", since=12)
@performs("write-out-equation")
def lower_einsum(b: Builder) -> Sequence[Value]:
    """Lower Einsum to MatMulV2, or BatchMatMulV2 where letters are in both operands and the result.

    The second operand goes first where its free letters do in the result, which saves a Transpose.
    """
    equation = _equation(b)
    sizes = _sizes(b, equation)
    first, second = (_Side.of(equation, position) for position in range(_PAIR))
    if equation.result.startswith(first.batch + second.free):
        first, second = second, first
    letters = first.batch + first.free + second.free
    turned, merged = letters != equation.result, len(letters) > len(first.batch) + _PAIR
    product = _product(b, first, second, sizes, "product" if turned or merged else None)
    spread = _shaped(b, product, letters, sizes, "product.spread" if turned else None)
    return [_turned(b, spread, letters, equation.result)]


@dataclass(frozen=True, slots=True)
class _Side:
    """One operand of the product."""

    position: int  # its input
    letters: str  # its axes
    batch: str  # letters that the result and the other operand have too, in the result's order
    free: str  # letters that the result alone has too, in the result's order
    contracted: str  # letters that the other operand alone has too, in the first operand's order

    @staticmethod
    def of(equation: Equation, position: int) -> _Side:
        mine, other = equation.operands[position], equation.operands[1 - position]
        kept = [letter for letter in equation.result if letter in mine]
        return _Side(
            position,
            mine,
            "".join(letter for letter in kept if letter in other),
            "".join(letter for letter in kept if letter not in other),
            "".join(each for each in equation.operands[0] if each not in kept and each in mine),
        )

    @property
    def contracted_first(self) -> bool:
        """True if the operand has its contracted letters before the free ones already."""
        return self.letters == self.batch + self.contracted + self.free


def _equation(b: Builder) -> Equation:
    text = b.string("equation", "")
    equation = read_equation(text)
    if equation is not None and len(equation.operands) == len(b.node.inputs) == _PAIR:
        sides = [_Side.of(equation, position) for position in range(_PAIR)]
        whole = all(
            side.free
            and side.contracted
            and sorted(side.letters) == sorted(set(side.letters))
            and len(side.batch + side.free + side.contracted) == len(side.letters)
            for side in sides
        )
        if whole and len(set(equation.result)) == len(equation.result):
            return equation
    reason = Text(
        "equation {equation} is not a product of two operands, each with letters of its own "
        "and letters that are summed over"
    )
    raise b.unsupported(
        reason.with_values(equation=repr(text)),
        "attribute equation",
        Text(
            "express the sum with Transpose, Reshape, ReduceSum and MatMul where the model is built"
        ),
    )


def _sizes(b: Builder, equation: Equation) -> Sizes:
    sizes: dict[str, int | None] = {}
    for position, letters in enumerate(equation.operands):
        dims = b.source(position).required_dims
        if len(dims) != len(letters):
            text = Text("needs an operand of {rank} axes, found {found}")
            raise b.bad(text.with_values(rank=len(letters), found=len(dims)), "equation")
        for letter, dim in zip(letters, dims, strict=True):
            known = sizes.get(letter)
            if None not in {known, dim} and known != dim:
                text = Text("needs a single size for {letter}, found {found} and {other}")
                raise b.bad(text.with_values(letter=letter, found=known, other=dim), "equation")
            sizes[letter] = dim if known is None else known
    return sizes


def _product(b: Builder, first: _Side, second: _Side, sizes: Sizes, label: str | None) -> Value:
    values = [_matrix(b, side, sizes) for side in (first, second)]
    dims = (*values[0].type.dims[:-2], _size(first.free, sizes), _size(second.free, sizes))
    flags = first.contracted_first, not second.contracted_first
    type_ = TensorType(b.output_type().dtype, dims)
    if not first.batch:
        attributes: dict[str, AttrValue] = {"transpose_x1": flags[0], "transpose_x2": flags[1]}
        return b.op("MatMulV2", values, type_, attributes, label)
    attributes = {"adj_x1": flags[0], "adj_x2": flags[1]}
    return b.op("BatchMatMulV2", values, type_, attributes, label)


def _matrix(b: Builder, side: _Side, sizes: Sizes) -> Value:
    axes = (side.contracted, side.free) if side.contracted_first else (side.free, side.contracted)
    letters = side.batch + "".join(axes)
    turned = _turned(b, b.input(side.position), side.letters, letters, f"x{side.position}.turned")
    return _shaped(b, turned, (*side.batch, *axes), sizes, f"x{side.position}.matrix")


def _turned(b: Builder, x: Value, letters: str, wanted: str, label: str | None = None) -> Value:
    if letters == wanted:
        return x
    perm = tuple(letters.index(letter) for letter in wanted)
    dims = tuple(x.type.dims[axis] for axis in perm)
    return b.op("TransposeD", [x], TensorType(x.type.dtype, dims), {"perm": perm}, label)


def _shaped(
    b: Builder, x: Value, axes: Sequence[str], sizes: Sizes, label: str | None = None
) -> Value:
    """`x` with axes of these letters; only one of them may have an open size."""
    dims = tuple(_size(letters, sizes) for letters in axes)
    if len(dims) == x.type.rank:
        return x
    if dims.count(None) > 1:
        text = Text("more than one of the dims {dims} is open")
        raise OpenShapeError(text.with_values(dims=format_shape(dims)))
    if None not in dims:
        return b.reshape(x, tuple(dim for dim in dims if dim is not None), label)
    target = b.const("shape", np.array([-1 if dim is None else dim for dim in dims], np.int64))
    return b.op("Reshape", [x, target], TensorType(x.type.dtype, dims), label=label)


def _size(letters: str, sizes: Sizes) -> int | None:
    found = [sizes[letter] for letter in letters]
    return None if None in found else prod(size for size in found if size is not None)
