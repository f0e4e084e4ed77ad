"""Control flow as the graph engine has it: values that go one way or the other, and meet again.

An If becomes a Switch for each value that its branches take from around them, the nodes of both
branches side by side, and a Merge for each of its results.
"""

from atc_py.target.row import Unit
from atc_py.target.rows.parts import ANY, ELSEWHERE, of_moves, operator

ROWS = (
    # CANN's operator also outputs value_index, the position of the input that was alive.
    of_moves(
        "Merge",
        "The one of its inputs that is alive in this run.",
        "x* > y",
        columns=f"{ANY} bf16",
        kernels=ELSEWHERE,
    ),
    operator(
        "Switch",
        "data, alive as output_true where pred holds and as output_false where not.",
        "data pred > output_false output_true",
        form="T b > T",
        unit=Unit.LOCAL,
        columns=f"{ANY} bf16",
    ),
)
