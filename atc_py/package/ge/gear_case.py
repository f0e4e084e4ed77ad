"""Gears of a model: the op that runs the graph of each, and their numbers [names from GE's source]."""

from atc_py.package.ge.graph import GeOp
from atc_py.package.ge.interface import GEAR_WORDS
from atc_py.package.ge.model import HuaweiModel

_CASE, _COUNT, _NUMBERS, _TYPE = "Case", "_batch_num", "_pred_value_{}", "mbatch_dynamic_type"
_TYPES = {1: 2, 2: 3, 3: 4}
"""Numbers of what gears decide in the partition of inputs and outputs, by those of the op."""


def gear_case(model: HuaweiModel) -> GeOp | None:
    """The op that runs the graph of a gear; None of a model without gears."""
    return next((op for op in model.ops if op.type == _CASE and _COUNT in op.attributes), None)


def gear_numbers(model: HuaweiModel) -> dict[str, tuple[tuple[int, ...], ...]]:
    """The numbers of each gear by what they choose, as the op has them or the partition; or none."""
    stated = {} if model.interface is None else model.interface.gears
    case = gear_case(model)
    if case is None:
        return stated
    numbers = tuple(
        case.attributes.numbers(_NUMBERS.format(at)) for at in range(len(case.subgraphs))
    )
    if not numbers or not all(numbers):
        return stated
    word = GEAR_WORDS.get(_TYPES.get(case.attributes.number(_TYPE), 0))
    return {word or next(iter(stated), GEAR_WORDS[4]): numbers}
