"""Tables of a plan with a long curve: rows around the plan, all of them for `--verbose`."""

from pathlib import Path

from atc_py.report.planning.tables import plan_tables
from atc_py.results.plan import DtypePlan, PlannedNode, PlanPoint

POINTS = tuple(PlanPoint({f"n{at}": "float32"}, at + 1.0, 2.0, {}, 0) for at in range(50))
NODES = tuple(PlannedNode(f"n{at}", "Add", 1, "float32", at / 100, saved=0.0) for at in range(40))


def plan(chosen: int) -> DtypePlan:
    return DtypePlan(
        Path("net.onnx"), "sim", {"cosine": 0.9}, 1, 1, POINTS[chosen], POINTS[0], POINTS[-1], None,
        POINTS, NODES, (), (), 40, 50, 50, 50, exhaustive=False,
    )  # fmt: skip


def test_rows_around_a_plan_beyond_the_thirtieth_point() -> None:
    _, curve, nodes = plan_tables(plan(40), whole=False)
    assert [row[0] for row in curve.rows] == [f"{at + 1}.00 s" for at in range(37, 44)] + [""]
    assert curve.rows[-1][-1] == "and 43 more (--verbose)"
    assert [row[0] for row in nodes.rows] == [
        *(f"n{at}" for at in range(39, 31, -1)), "and 32 more (--verbose)"
    ]  # fmt: skip


def test_whole_report_has_every_point_and_node() -> None:
    _, curve, nodes = plan_tables(plan(40))
    assert (len(curve.rows), len(nodes.rows)) == (50, 40)
