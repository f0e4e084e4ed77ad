"""Ranges of shapes: their grammar, and what is refused."""

from pathlib import Path

import pytest

from atc_py.adapters.ais_bench.shape_ranges import shapes_in_range
from tests.failures import in_one_item


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("x:1,600", ["x:1,600"]),
        ("x:1,2~4", ["x:1,2", "x:1,3", "x:1,4"]),
        ("x:1,2~6~2", ["x:1,2", "x:1,4", "x:1,6"]),
        ("x:1,2-5-9", ["x:1,2", "x:1,5", "x:1,9"]),
        ("x:1~2,7-8", ["x:1,7", "x:1,8", "x:2,7", "x:2,8"]),
        ("a:1~2;b:3-4", ["a:1;b:3", "a:1;b:4", "a:2;b:3", "a:2;b:4"]),
        ("a:0:1,2", ["a:0:1,2"]),
        (f"{'a' * 300}:1,2", [f"{'a' * 300}:1,2"]),
    ],
)
def test_every_combination_is_named(text: str, shapes: list[str]) -> None:
    assert shapes_in_range(text) == shapes


def test_file_has_a_range_in_each_line() -> None:
    Path("ranges.txt").write_text("x:1,2~3\nx:4,5\n\n", encoding="utf-8")
    assert shapes_in_range("ranges.txt") == ["x:1,2", "x:1,3", "x:4,5"]


@in_one_item(
    "text",
    [
        "", "x", "x:", "x:a", "x:1~", "x:4~2", "x:1~9~0", "x:1~2~3~4", "x:1;y", "x:-1",
        "x:1~99999999999999999999999", "x:1~20000", "x:1~200;y:1~200",
    ],
)  # fmt: skip
def test_text_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(RuntimeError):
        shapes_in_range(text)
