"""docs/precision.md: every rule names tests that there are, or says that it has none."""

import re
from pathlib import Path

from atc_py.passes.precision.implementations import ATC_MODES, IMPLEMENTATIONS, arithmetic
from atc_py.passes.precision.mix_lists import MixList, default_list
from atc_py.results.comparison import FLOAT16_CAP, GRIDS, ROUNDING_FACTOR
from atc_py.target import SocFamily, operators
from atc_py.target.rows.parts import IMPL_MODE

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "precision.md").read_text(encoding="utf-8")
TESTS = set(
    re.findall(
        r"^def (test_\w+)",
        "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")),
        re.MULTILINE,
    )
)


def rules() -> list[list[str]]:
    """Return the cells of the table of rules."""
    section = PAGE.split("## The rules, one by one")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_rule_names_tests_that_there_are() -> None:
    assert len(rules()) > 30
    for rule, here, tests in rules():
        named = re.findall(r"`(test_\w+)`", tests)
        assert set(named) <= TESTS, rule
        assert named or (tests == "-" and here.startswith("no: ")), rule


def test_page_names_the_operators_with_two_implementations() -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith("| Sigmoid, Softp")]
    named = {name.strip() for name in row.split("|")[1].split(",")}
    assert named == {row.name for row in operators() if row.attribute("impl_mode") is IMPL_MODE}
    assert all(mode in PAGE for mode in IMPLEMENTATIONS)


STEPS = {
    "nothing": "high_precision",
    "every step": "high_performance",
    "the difference from the largest element": "float16_difference",
    "as Ascend310P": "float16_difference",
    "the difference and the exponential": "float16_exponential",
    "a polynomial: not modeled, ATC6015": "high_precision",
}
"""Implementations by the words of the page."""

COLUMNS = (
    "Ascend310P",
    "Ascend910B Ascend910_93",
    "Ascend310B Ascend610 Ascend910",
    "Ascend310",
    "Hi3796CV300CS",
)
"""Families of the table's columns."""


def test_page_names_what_kernels_round_to_float16() -> None:
    section = PAGE.split("| operator | Ascend310P |")[1].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines()[2:]]
    assert len(rows) == 6
    for operator, *cells in rows:
        op, _, words = operator.partition(", ")
        modes = [words] if words.startswith("high") else ["high_precision", "high_performance"]
        for mode in modes if words else ["high_precision"]:
            for families, cell in zip(COLUMNS, cells, strict=True):
                for family in families.split():
                    assert arithmetic(op, SocFamily(family), mode) == STEPS[cell], operator


def test_page_names_the_operators_of_which_one_implementation_is_simulated() -> None:
    text = PAGE.split("simulated in one way (")[1].split(", and products")[0]
    several = {row.name for row in operators() if row.attribute("impl_mode") is not None}
    assert {
        name.strip() for name in text.replace("\n", " ").split(",")
    } == ATC_MODES.keys() - several


SOCS = {
    "sim": "sim",
    "Ascend310": "Ascend310",
    "Ascend310P": "Ascend310P",
    "Ascend610": "Ascend610",
    "Hi3796CV300CS": "Hi3796CV300CS",
    "Ascend310B, Ascend910": "Ascend310B Ascend910",
    "Ascend910B (A2), Ascend910_93 (A3)": "Ascend910B Ascend910_93",
    "Ascend950": "Ascend950",
}
"""Families by the words of the page."""


def test_page_names_the_black_lists_of_all_families() -> None:
    section = PAGE.split("## Lists of the mixed modes")[1].split("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in section.splitlines() if "|" in line][2:]
    black = ""
    named: dict[SocFamily, str] = {}
    for socs, _white, words in cells:
        black = black if words == "the same" else words.replace("-", "")
        named |= {SocFamily(name): black for name in SOCS[socs].split()}
    assert named.keys() == set(SocFamily)
    for family, text in named.items():
        known = {row.name for row in operators()}
        found = {op for op in known if default_list(op, family) is MixList.BLACK}
        assert {op.strip() for op in text.split(",") if op} == found


def test_page_states_the_bounds() -> None:
    share = {name: ROUNDING_FACTOR * grid.unit for name, grid in GRIDS.items()}
    assert f"{share['float16']:.1%} for one kernel of float16".replace("%", " %") in PAGE
    assert f"{share['bfloat16']:.1%} for one of bfloat16".replace("%", " %") in PAGE
    caps = (FLOAT16_CAP, GRIDS["bfloat16"].cap)
    assert "never exceeds {:.0f} % and {:.0f} %".format(*(100 * cap for cap in caps)) in PAGE
