"""Predicates on dims, and on shapes that must agree."""

from collections.abc import Callable

from atc_py.check.bound_node import BoundNode
from atc_py.check.predicate import each_pair, each_tensor, predicate
from atc_py.check.reading import (
    HOLDS,
    Answer,
    NamedTensor,
    all_of,
    asked,
    attribute,
    count_of,
    fails,
    integers,
    lengths,
    noted,
    shown,
    unknown,
)
from atc_py.diag import DIM_OUT_OF_RANGE, SHAPES_DISAGREE
from atc_py.spec import rules
from atc_py.text import COMMA, Text

_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
"""Bases for which the Miller-Rabin test errs on no number below 2**64 (OEIS A014233)."""


@predicate(
    DIM_OUT_OF_RANGE,
    demand="{tensor} of {op} must have dimension {dim} {range}",
    help_=Text(
        "change the size of the model's input, or split {tensor} along {dim} into parts that fit"
    ),
)
def _dim_in_range(rule: rules.DimInRange, node: BoundNode) -> Answer:
    least, most = rule.range
    return _dim(node, rule.tensor, rule.dim, lambda length: least <= length <= most)


@predicate(
    DIM_OUT_OF_RANGE,
    demand="{tensor} and {other} of {op} must have dimensions {dim} whose product is {range}",
    help_=Text(
        "change the size of the model's input, or split {tensor} along {dim} into parts that fit"
    ),
)
def _dim_product_in_range(rule: rules.DimProductInRange, node: BoundNode) -> Answer:
    return all_of(
        asked(_product_fits, rule, node, other, length)
        for other, length in lengths(node, rule.other, rule.dim)
    )


def _product_fits(
    rule: rules.DimProductInRange, node: BoundNode, other: NamedTensor, length: int | None
) -> Answer:
    factor = other.known_length(length)
    least, most = rule.range
    note = f"{rule.dim} of {rule.other} = {shown(factor)}"
    return _dim(node, rule.tensor, rule.dim, lambda length: least <= length * factor <= most, note)


@predicate(
    DIM_OUT_OF_RANGE,
    demand="{tensor} of {op} must have dimension {dim} less than {limit} where it is a prime number",
    help_=Text("choose another dim, one more for instance, or split {tensor} along {dim}"),
)
def _prime_dim_below(rule: rules.PrimeDimBelow, node: BoundNode) -> Answer:
    limit = rule.limit
    return _dim(node, rule.tensor, rule.dim, lambda length: length < limit or not is_prime(length))


def is_prime(number: int) -> bool:
    """True if a number below 2**64 is prime, by the Miller-Rabin test.

    Formula: with number - 1 = d * 2**s and d odd, a prime has, for each base b, b**d = 1 or
    b**(d * 2**i) = -1 for some i < s, all modulo the number.
    """
    if number <= 1 or any(number % base == 0 for base in _WITNESSES):
        return number in _WITNESSES
    shift = ((number - 1) & (1 - number)).bit_length() - 1
    odd = (number - 1) >> shift
    for base in _WITNESSES:
        power = pow(base, odd, number)
        if power in {1, number - 1}:
            continue
        for _ in range(shift - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


@predicate(
    DIM_OUT_OF_RANGE,
    demand="{tensor} of {op} must have a dimension {dim} that {attribute} divides",
    help_=Text(
        "choose a value of {attribute} that divides dimension {dim} where the model is built"
    ),
)
def _dim_divisible(rule: rules.DimDivisible, node: BoundNode) -> Answer:
    value = attribute(node, rule.attribute)
    if value is None:
        return HOLDS
    divisors = None if isinstance(value, tuple) else integers(value)
    divisor = divisors[0] if divisors and divisors[0] > 0 else None
    if divisor is None:
        return fails(f"{rule.attribute} = {shown(value)}")
    answer = _dim(
        node,
        rule.tensor,
        rule.dim,
        lambda length: length % divisor == 0,
        f"{rule.attribute} = {shown(value)}",
    )
    return HOLDS if divisor == 1 else answer


def _dim(
    node: BoundNode, name: str, dim: str, keeps: Callable[[int], bool], note: str = ""
) -> Answer:
    """True if dimension `dim` of each tensor of operand `name` keeps a rule.

    The value at fault is followed by `note`, or the tensor's shape.
    """
    answers = []
    for tensor, length in lengths(node, name, dim):
        if length is None:
            answers.append(unknown(tensor.described()))
        elif not keeps(length):
            answers.append(fails(noted(shown(length), note or tensor.shape_text())))
    return all_of(answers)


@predicate(
    DIM_OUT_OF_RANGE,
    demand="The number of elements of {tensor} of {op} must be {range}",
    help_=Text("change the number of elements of {tensor} where the model is built"),
)
@each_tensor
def _element_count_in_range(
    rule: rules.ElementCountInRange, _: BoundNode, tensor: NamedTensor
) -> Answer:
    """The answer for one tensor; open dims make its count 0 or at least the known part."""
    least, most = rule.range
    dims = tensor.dims
    count = count_of(dims)
    if count is not None:
        text = shown(count)
        shape = tensor.shape_text()
        faulty = noted(text, shape) if len(dims or ()) > 1 else text
        return HOLDS if least <= count <= most else fails(faulty)
    at_least = count_of([1 if dim is None else dim for dim in dims or ()]) or 0
    if dims is not None and at_least > most and least > 0:
        return fails(tensor.shape_text())
    return unknown(tensor.described())


# Shapes that must agree -------------------------------------------------------------------------


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} and {other} of {op} must agree in dimension {dims}",
    help_=Text("change {tensor} or {other} so that both agree in {dims}"),
)
def _dims_equal(rule: rules.DimsEqual, node: BoundNode) -> Answer:
    return all_of(
        asked(_lengths_agree, dim, one, two)
        for dim in rule.dims
        for one in lengths(node, rule.tensor, dim)
        for two in lengths(node, rule.other, dim)
    )


def _lengths_agree(
    dim: str, one: tuple[NamedTensor, int | None], two: tuple[NamedTensor, int | None]
) -> Answer:
    first, second = one[0].known_length(one[1]), two[0].known_length(two[1])
    if first == second:
        return HOLDS
    a, b = shown(first), shown(second)
    return fails(
        Text(
            "{dim} = {a} in {tensor} and {b} in {other}",
            dim=dim,
            a=a,
            tensor=one[0].name,
            b=b,
            other=two[0].name,
        )
    )


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} and {other} of {op} must have the same shape",
    help_=Text(
        "expand the smaller one of {tensor} and {other} to the shape of the other before the node"
    ),
)
@each_pair
def _shapes_equal(_: rules.ShapesEqual, one: NamedTensor, two: NamedTensor) -> Answer:
    if one.tensor is two.tensor:
        return HOLDS
    first, second = one.dims, two.dims
    seen = COMMA.join([one.described(), two.described()])
    if first is not None and second is not None:
        # Known dims that differ decide, whatever the open ones turn out to be.
        pairs = list(zip(first, second, strict=False))
        if len(first) != len(second) or any(None not in p and p[0] != p[1] for p in pairs):
            return fails(seen)
        if all(None not in pair for pair in pairs):
            return HOLDS
    return unknown(seen)
