"""Text cut into lines by columns, of which Chinese characters take two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.report.wrapping import columns, cut, wrap
from tests.sampling import examples


@pytest.mark.parametrize(("text", "width"), [("", 0), ("ab", 2), ("卷积", 4), ("a，b", 4)])
def test_columns_count_wide_characters_twice(text: str, width: int) -> None:
    assert columns(text) == width


def test_lines_break_at_spaces_and_between_chinese_characters() -> None:
    assert wrap("one two three", "- ", "  ", 9) == ["- one two", "  three"]
    assert wrap("数据类型须为 float16", width=10) == ["数据类型须", "为 float16"]


def test_closing_marks_never_begin_a_line_and_opening_ones_never_end_one() -> None:
    assert wrap("一二三四五，六", width=10) == ["一二三四", "五，六"]
    assert wrap("一二三四（五）", width=10) == ["一二三四", "（五）"]


def test_text_that_fits_stays_as_it_is() -> None:
    assert wrap("a  b\nc") == ["a b c"]
    assert wrap("") == [""]
    assert wrap("x" * 120) == ["x" * 120]


def test_cut_leaves_dots() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abc..."
    assert cut("一二三四", 6) == "一..."


@given(st.text("ab 卷积，。（）\n", max_size=80), st.integers(8, 30))
@examples(200)
def test_no_letter_is_lost_and_no_line_is_too_long(text: str, width: int) -> None:
    lines = wrap(text, width=width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    for line in lines:
        assert columns(line) <= width or " " not in line.strip()
