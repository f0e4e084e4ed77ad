"""docs/special-values.md names tests that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "special-values.md").read_text(encoding="utf-8")


def test_tests_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(named) > 15
    assert named <= set(re.findall(r"^def (test_\w+)", "\n".join(texts), re.MULTILINE))


def test_every_row_says_how_it_is_held_to() -> None:
    """Check that the last cell in a column of tests names one, or none with a dash."""
    for table in re.findall(r"((?:^\|.*\n)+)", PAGE, re.MULTILINE):
        head, _, *rows = table.splitlines()
        if head.endswith("| test |"):
            assert all(re.search(r"\| (`test_\w+`|-) \|$", row) for row in rows), table


def test_readme_and_the_page_on_precision_lead_here() -> None:
    assert "docs/special-values.md" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "special-values.md" in (ROOT / "docs" / "precision.md").read_text(encoding="utf-8")
