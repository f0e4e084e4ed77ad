"""Lists of gears: parsed, mapped to the open dims of inputs, and refused with ATC's codes."""

import pytest

from atc_py.diag import AtcError
from atc_py.options.compile_options import select_gears
from atc_py.options.gears import GearKind, Gears, parse_gears
from atc_py.options.input_shapes import parse_gear_shapes
from atc_py.options.keywords import ConvertKeywords
from tests.failures import in_one_item

BATCH, IMAGE, DIMS = GearKind.BATCH, GearKind.IMAGE, GearKind.DIMS


def gears_of(kind: GearKind, shapes: str, text: str, layout: str = "") -> Gears:
    """Return the gears of a text for inputs as --input-shape gives them."""
    return parse_gears(kind, text, parse_gear_shapes(shapes) if shapes else {}, layout)


def test_gears_take_open_dims_in_order() -> None:
    dims = gears_of(DIMS, "a:-1,4;b:1,-1", "2,8;4,16;")
    assert dims.gears == ((2, 8), (4, 16))
    assert dims.shapes_of(0) == {"a": (2, 4), "b": (1, 8)}
    assert list(dims.shapes_of(1)) == ["a", "b"]
    assert dims.largest == 1
    assert dims.text() == "2,8;4,16"


def test_batch_and_image_gears_serve_every_open_input() -> None:
    batch = gears_of(BATCH, "b:-1,3;a:-1;c:2,2", "1,8,4,")
    assert batch.shapes_of(1) == {"b": (8, 3), "a": (8,), "c": (2, 2)}
    assert batch.largest == 1
    assert batch.text() == "1,8,4"
    assert gears_of(BATCH, "x:-1", "1,2147483647").shapes_of(1) == {"x": (2**31 - 1,)}
    image = gears_of(IMAGE, "x:1,3,-1,-1;y:1,1,-1,-1;z:5", "224, 192;448,448;")
    assert image.shapes_of(0) == {"x": (1, 3, 224, 192), "y": (1, 1, 224, 192), "z": (5,)}
    last = gears_of(IMAGE, "x:1,-1,-1,3", "2,4;4,2", "NHWC")
    assert last.shapes_of(1) == {"x": (1, 4, 2, 3)}
    assert last.largest == 0


def test_gears_match_shapes_that_are_fed() -> None:
    gears = gears_of(DIMS, "a:-1,-1;b:-1", "1,2,3;1,2,4;2,2,3")
    assert gears.matching({"a": (1, 2)}) == (0, 1)
    assert gears.matching({"a": (1, 2), "b": (4,)}) == (1,)
    assert gears.matching({"a": (9, 9)}) == ()
    assert gears.matching({"other": (1,)}) == (0, 1, 2)


IMAGES = "x:1,3,-1,-1"


@in_one_item(
    ("kind", "shapes", "text", "layout", "code"),
    [
        (BATCH, "", "1,2", "", "E10004"),
        (BATCH, "x:-1,3;s:", "1,2", "", "E10012"),
        (BATCH, "x:1,-1", "1,2", "", "E10018"),
        (BATCH, "x:-1,-1", "1,2", "", "E10018"),
        (BATCH, "x:1,3", "1,2", "", "E10031"),
        (BATCH, "x:1,3", "1,0x", "", "E10031"),
        (BATCH, "x:-1,3", "1,0x", "", "E10003"),
        (BATCH, "x:-1,3", "1;2", "", "E10003"),
        (BATCH, "x:-1,3", "1, 2", "", "E10003"),
        (BATCH, "x:-1,3", "1,,2", "", "E10003"),
        (BATCH, "x:-1,3", ",", "", "E10003"),
        (BATCH, "x:-1,3", "1", "", "E10035"),
        (BATCH, "x:-1,3", "1,1", "", "E10039"),
        (BATCH, "x:-1,3", "0,1", "", "E10038"),
        (BATCH, "x:-1,3", "1,2147483648", "", "E10013"),
        (BATCH, "x:-1,3", ",".join(map(str, range(1, 258))), "", "E10036"),
        (IMAGE, "", "2,2;4,4", "", "E10004"),
        (IMAGE, IMAGES, "2,2;4,4", "ND", "E10003 E10019"),
        (IMAGE, IMAGES, "2,2;4,4", "NHWC", "E10019"),
        (IMAGE, "x:-1,3,-1,-1", "2,2;4,4", "", "E10019"),
        (IMAGE, "x:1,3,-1,8", "2,2;4,4", "", "E10019"),
        (IMAGE, "x:1,-1,-1", "2,2;4,4", "", "E10019"),
        (IMAGE, "x:1,3,8,8", "2,2;4,4", "", "E10019"),
        (IMAGE, IMAGES, "2,2;4x4", "", "E10003"),
        (IMAGE, IMAGES, "224,224,3;448,448,3", "", "E10020"),
        (IMAGE, IMAGES, "224;448", "", "E10020"),
        (IMAGE, IMAGES, "2,;4,4", "", "E10003"),
        (IMAGE, IMAGES, "2,2", "", "E10035"),
        (IMAGE, IMAGES, "2,2;2,2", "", "E10039"),
        (DIMS, "", "1;2", "", "E10004"),
        (DIMS, "x:1,3", "1;2", "", "E10001"),
        (DIMS, "x:-1,3", ";", "", "E10058"),
        (DIMS, "x:-1,-1", "1,2,3;4,5,6", "", "E10003"),
        (DIMS, "x:-1,-1", "1,2;4", "", "E10003"),
        (DIMS, "x:-1,-1", "1,2;4,b", "", "E10001"),
        (DIMS, "x:-1,-1", "1,2; 4,5", "", "E10001"),
        (DIMS, "x:-1,-1", "1,2", "", "E10035"),
        (DIMS, "x:-1,-1", "1,2;1,2", "", "E10039"),
    ],
)
def test_gears_without_meaning(
    kind: GearKind, shapes: str, text: str, layout: str, code: str
) -> None:
    with pytest.raises(AtcError) as refused:
        gears_of(kind, shapes, text, layout)
    found = refused.value.diagnostics
    assert " ".join(each.atc.code for each in found if each.atc) == code
    assert all(each.help for each in found)


@pytest.mark.parametrize(
    ("choice", "shapes", "code"),
    [
        ({"batch_sizes": "1,2", "dims": "1;2"}, "x:-1,3", "E10009"),
        ({"batch_sizes": "1,2"}, "x:1~8,3", "E10040"),
        ({"batch_sizes": "1,2"}, "x:a,3", "E10002"),
        ({"batch_sizes": "1,2"}, "x,3", "E10002"),
        ({"batch_sizes": "1,2"}, "x:-2,3", "E10011"),
        ({"batch_sizes": "1,2"}, "x:99999999999,3", "E10013"),
    ],
)
def test_options_without_meaning(choice: ConvertKeywords, shapes: str, code: str) -> None:
    with pytest.raises(AtcError) as refused:
        select_gears({**choice, "input_shape": shapes})
    atc = refused.value.diagnostics[0].atc
    assert atc is not None
    assert atc.code == code


def test_keywords_take_numbers_too() -> None:
    assert select_gears({"input_shape": "x:1"}) is None
    batch = select_gears({"batch_sizes": [1, 4], "input_shape": {"x": (-1, 3)}})
    assert batch == gears_of(BATCH, "x:-1,3", "1,4")
    image = select_gears({"image_sizes": [(2, 4), (4, 8)], "input_shape": IMAGES})
    assert image == gears_of(IMAGE, IMAGES, "2,4;4,8")
