"""The Gaussian error linear unit that exporters write out becomes one operator."""

from math import pi, sqrt

from atc_py.ir import Node, Value
from atc_py.passes.fusion.matching import Match, MissError, RewritePass, is_close, scalar

_CUBIC = 0.044715
_SLOPE = sqrt(2 / pi)
_SCALES = ("RealDiv", "Mul", "Muls")


class FuseGeluPass(RewritePass):
    """x * (1 + erf(x / sqrt(2))) / 2 = GeluV2(x), in whatever order the factors stand.

    With tanh(sqrt(2 / pi) * (x + 0.044715 x^3)) for the error function it is GeluV2 with
    approximate = tanh. GeluV2 computes in float32 and rounds once.
    """

    def rewrite(self, match: Match) -> None:
        is_erf = match.anchor.op == "Erf"
        node = match.producer(match.anchor.input(0), *_SCALES)
        x = _scaled_by(match, node, 1 / sqrt(2)) if is_erf else _tanh_of(match)
        sum_ = match.consumer(match.anchor, "Add")
        if not is_close(scalar(match.other(sum_, match.anchor.output)), 1.0):
            raise MissError("1 must be added to {op}, found {node}", sum_, op=match.anchor.op)
        last = _halved_product(match, sum_, x)
        match.require_type_of(x, last)
        match.become(last, "GeluV2", [x], {"approximate": "none" if is_erf else "tanh"})


def _scaled_by(match: Match, node: Node, wanted: float) -> Value:
    for value in node.present_inputs:
        if value.const is None:
            factor = match.scaled(node, value)
            if is_close(factor, wanted):
                return value
            raise MissError(
                "the factor must be {wanted}, found {factor}",
                node,
                wanted=f"{wanted:.6g}",
                factor=f"{factor:.6g}",
            )
    raise MissError("one operand must be computed, found {node}", node)


def _tanh_of(match: Match) -> Value:
    """X, of which the anchor takes sqrt(2 / pi) * (x + 0.044715 x^3), with x in or out."""
    node = match.producer(match.anchor.input(0), *_SCALES)
    constants = [value for value in node.present_inputs if value.const is not None]
    if constants or node.op == "Muls":
        inner = match.producer(_scaled_by(match, node, _SLOPE), "Add")
        return _cubic(match, inner)
    for left, right in _both_ways(node):
        if left.producer is not None and right.producer is not None and right.producer.op == "Add":
            slope = match.producer(left, *_SCALES)
            x = _scaled_by(match, slope, _SLOPE)
            return _quadratic(match, match.producer(right, "Add"), x)
    raise MissError("a factor must be {slope}, found {node}", node, slope=f"{_SLOPE:.6g}")


def _cubic(match: Match, sum_: Node) -> Value:
    for x, term in _both_ways(sum_):
        producer = term.producer
        if producer is not None and _is_scaled(producer):
            power = _scaled_by(match, match.keep(producer), _CUBIC)
            if _is_power(match, power, x, 3):
                return x
    raise MissError("x + {cubic} x^3 must be the operand, found {node}", sum_, cubic=_CUBIC)


def _quadratic(match: Match, sum_: Node, x: Value) -> Value:
    """X of 1 + 0.044715 x^2, in which x may be multiplied in twice."""
    for one, term in _both_ways(sum_):
        if not is_close(scalar(one), 1.0):
            continue
        producer = match.producer(term, "Mul", "Muls")
        if _is_scaled(producer):
            if _is_power(match, _scaled_by(match, producer, _CUBIC), x, 2):
                return x
        elif x in producer.inputs:
            inner = match.producer(match.other(producer, x), "Mul", "Muls")
            if _scaled_by(match, inner, _CUBIC) is x:
                return x
    raise MissError("1 + {cubic} x^2 must be a factor, found {node}", sum_, cubic=_CUBIC)


def _is_scaled(node: Node) -> bool:
    if node.op == "Muls":
        return True
    return node.op == "Mul" and any(scalar(value) is not None for value in node.present_inputs)


def _is_power(match: Match, value: Value, x: Value, exponent: int) -> bool:
    """True if `value` is x to the power of 2 or 3, by Pow or by Mul; the nodes are kept."""
    node = value.producer
    if node is None or node.op not in {"Pow", "Mul"}:
        return False
    first, second = node.present_inputs
    if node.op == "Pow":
        found = first is x and scalar(second) == exponent
    elif exponent == 2:  # noqa: PLR2004
        found = first is x and second is x
    elif first is x or second is x:
        found = _is_power(match, match.other(node, x), x, exponent - 1)
    else:
        found = False
    if found:
        match.keep(node)
    return found


def _both_ways(node: Node) -> list[tuple[Value, Value]]:
    first, second = node.present_inputs[:2]
    return [(first, second), (second, first)]


def _halved_product(match: Match, sum_: Node, x: Value) -> Node:
    """The node that ends the product of `sum_`, x and 1 / 2."""
    product = match.consumer(sum_, "Mul", "Muls")
    if product.op == "Mul":
        factor = match.other(product, sum_.output)
        if factor is x:
            last = match.consumer(product, *_SCALES)
            _scaled_by(match, last, 0.5)
            return last
        if scalar(factor) is None:
            half = match.producer(factor, *_SCALES)
            if _scaled_by(match, half, 0.5) is not x:
                raise MissError("half of x must be the factor, found {node}", half)
            return product
    _scaled_by(match, product, 0.5)
    last = match.consumer(product, "Mul")
    if match.other(last, product.output) is not x:
        raise MissError("x must be a factor, found {node}", last)
    return last
