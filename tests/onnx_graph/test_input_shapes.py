"""The text of `--input-shape`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_INPUT_SHAPE
from atc_py.options.input_shapes import format_input_shapes, parse_input_shapes
from tests.failures import in_one_item
from tests.sampling import examples

NAMES = st.text(st.characters(exclude_characters=";", exclude_categories=["Cs"]), min_size=1)
SHAPES = st.lists(st.integers(1, 2**31 - 1), max_size=5).map(tuple)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("x:1,3,224,224", {"x": (1, 3, 224, 224)}),
        ("x:1;y:2,3", {"x": (1,), "y": (2, 3)}),
        (" x : 1 , 2 ; y : 3 ", {"x": (1, 2), "y": (3,)}),
        ("scalar:", {"scalar": ()}),
        ("layer:0:1,2", {"layer:0": (1, 2)}),
        ("x:007", {"x": (7,)}),
    ],
)
def test_text_parses(text: str, shapes: dict[str, tuple[int, ...]]) -> None:
    assert parse_input_shapes(text) == shapes


@in_one_item(
    ("text", "said"),
    [
        ("", "'' is not of the form"),
        ("x", "'x' is not of the form"),
        (":1,2", "':1,2' is not of the form"),
        ("x:1;", "'' is not of the form"),
        ("x:1;x:2", "'x' is given twice"),
        ("x:1,0", "found '0'"),
        ("x:-1,3", "found '-1'"),
        ("x:1.5", "found '1.5'"),
        ("x:1,,2", "found ''"),
        ("x:1_0", "found '1_0'"),
        ("x:\u0661", "found '\u0661'"),
        ("x:2147483648", "found '2147483648'"),
        ("x:" + "9" * 5000, "found '9999999999...'"),
    ],
)
def test_bad_text_is_refused_with_the_right_form(text: str, said: str) -> None:
    with pytest.raises(AtcError) as caught:
        parse_input_shapes(text)
    (finding,) = caught.value.diagnostics
    assert finding.code is BAD_INPUT_SHAPE
    assert said in finding.message
    assert '--input-shape "name:1,3,224,224"' in str(finding.help)


@given(st.dictionaries(NAMES.filter(lambda name: name == name.strip()), SHAPES, min_size=1))
@examples(200)
def test_written_text_reads_back(shapes: dict[str, tuple[int, ...]]) -> None:
    assert parse_input_shapes(format_input_shapes(shapes)) == shapes


@given(st.text())
@examples(200)
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        shapes = parse_input_shapes(text)
    except AtcError as error:
        found = [finding.code for finding in error.diagnostics]
    else:
        found = []
        assert parse_input_shapes(format_input_shapes(shapes)) == shapes
    assert found in ([], [BAD_INPUT_SHAPE])
