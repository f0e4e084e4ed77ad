"""The text of --out-nodes."""

import pytest

from atc_py.diag import AtcError, AtcFault
from atc_py.options.input_shapes import InputFormat, OutNode, parse_input_format, parse_out_nodes
from tests.failures import in_one_item


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("", ()),
        ("scores", (OutNode("scores", "scores"),)),
        ("b;a", (OutNode("b", "b"), OutNode("a", "a"))),
        ("Conv_0:0", (OutNode("Conv_0:0", "Conv_0", 0),)),
        ("a:1; b:02 ", (OutNode("a:1", "a", 1), OutNode("b:02", "b", 2))),
        ("a/b.c:0;", (OutNode("a/b.c:0", "a/b.c", 0),)),
    ],
)
def test_entries_are_read_in_order(text: str, entries: tuple[OutNode, ...]) -> None:
    assert parse_out_nodes(text) == entries


@in_one_item(
    ("text", "code"),
    [
        ("a:0;b", "E10001"),
        ("a:b:0", "E10001"),
        (":0", "E10001"),
        ("a:", "E10001"),
        ("a:-1", "E10001"),
        ("a:x", "E10001"),
        ("a:²", "E10001"),
        (";", "E10001"),
        ("a;;b", "E10001"),
        ("a;a", "E10001"),
        ("a:2147483648", "E10013"),
        ("a:99999999999999999999", "E10013"),
    ],
)
def test_other_texts_are_refused(text: str, code: str) -> None:
    with pytest.raises(AtcError) as caught:
        parse_out_nodes(text)
    found = caught.value.diagnostics[0]
    assert found.atc is not None
    assert found.atc.code == code
    assert "--out-nodes" in str(found.place)


def test_largest_index_is_read() -> None:
    assert parse_out_nodes("a:2147483647")[0].index == 2**31 - 1


def test_unknown_layout_of_inputs_is_refused() -> None:
    assert parse_input_format("NHWC") is InputFormat.NHWC
    with pytest.raises(AtcError) as caught:
        parse_input_format("nchw")
    fault = caught.value.diagnostics[0].atc
    assert fault is not None
    assert fault == AtcFault("E10001", ("nchw", "--input_format", fault.arguments[2]))
