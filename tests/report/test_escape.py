"""Names from files, as text that may be shown."""

from atc_py.report.tables import Table, clipped, plain_lines, visible


def test_printable_text_stays_as_it_is() -> None:
    for text in ("", "conv1/x:0 [a]", "\u5377\u79ef", "\\n"):
        assert visible(text) == text


def test_control_characters_become_escapes() -> None:
    assert visible("a\x1b[31m\n\r\0\x9b\u202e\u2028\udcff") == (
        r"a\x1b[31m\n\r\x00\x9b\u202e\u2028\udcff"
    )


def test_columns_are_as_wide_as_what_is_shown() -> None:
    lines = plain_lines(Table("t\x1b", ("a", "b"), (("\n", "x"), ("long", "y"))))
    assert lines == [r"t\x1b", "  a     b", r"  \n    x", "  long  y"]


def test_long_text_is_shown_without_its_middle() -> None:
    assert clipped("a" * 2000) == "a" * 2000
    assert clipped("a\n" * 5000, 4) == r"a\n ...(9996 characters)... a\n"


def test_columns_are_never_as_wide_as_a_hostile_name() -> None:
    lines = plain_lines(Table("t", ("a", "b"), (("n" * 10**6, "x"), ("short", "y"))))
    assert max(map(len, lines)) < 500
