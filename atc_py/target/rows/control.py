"""Control flow as the graph engine has it: values that go one way or the other, and meet again.

An If becomes a Switch for each value that its branches take from around them, the nodes of both
branches side by side, and a Merge for each of its results.
"""

from atc_py.target.row import TargetOp, Unit
from atc_py.target.rows.parts import (
    ANY,
    ELSEWHERE,
    columns,
    operands,
)

ROWS = (
    # CANN's operator also outputs value_index, the position of the input that was alive.
    TargetOp(
        "Merge",
        *operands("x* > y"),
        "The one of its inputs that is alive in this run.",
        unit=Unit.MOVE,
        columns=columns(f"{ANY} bf16"),
        kernels=ELSEWHERE,
        family="move",
    ),
    TargetOp(
        "Switch",
        *operands("data pred > output_false output_true"),
        "data, alive as output_true where pred holds and as output_false where not.",
        unit=Unit.LOCAL,
        columns=columns(f"{ANY} bf16", "T b > T"),
    ),
)
