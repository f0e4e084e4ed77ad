"""Pictures in docs were taken of pages as they are drawn now."""

import pytest

from tests.browser.pictures import DOCS, FOLDERS, style_digest, taken_with


@pytest.mark.parametrize("file", FOLDERS)
def test_picture_is_of_the_page_as_it_is_drawn(file: str) -> None:
    assert taken_with(DOCS / file) == style_digest(file), "`make pictures` takes it anew"


def test_every_picture_of_a_page_is_known() -> None:
    assert {path.name for path in DOCS.glob("*.png")} - {"export-netron.png"} == set(FOLDERS)
