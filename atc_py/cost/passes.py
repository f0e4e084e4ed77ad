"""How often the vector unit goes over the elements of an operator.

An instruction of the vector unit works off 256 bytes a cycle. How many an operator takes is read
off its formula: one for each arithmetic step, with a division, a root and an exponential counted
as a handful. CANN does not publish them; the least is one, whatever the operator.
"""

from atc_py.target import TargetOp, Unit

_BY_FAMILY = {"reduce": 2.0, "rows": 4.0, "region": 4.0}
"""Families whose operators take more than one instruction; rows say where one of them differs."""


def passes_of(row: TargetOp, overlap: float) -> float:
    """Vector instructions for each element of the largest operand; 0 for mere movement.

    Args:
        row: the operator.
        overlap: how often a pool's windows cover an element; 1 for others.
    """
    if row.family == "pool":
        return overlap
    if row.passes is not None:
        return row.passes
    if row.unit is Unit.MOVE:
        return 0.0
    return _BY_FAMILY.get(row.family, 1.0)
