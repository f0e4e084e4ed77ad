"""Windows along an axis, counted one by one."""

import pytest

from atc_py.tensor.shapes import window_count


@pytest.mark.parametrize(
    ("length", "pads", "reach", "stride", "ceil", "expected"),
    [
        (4, (0, 0), 2, 2, False, 2),
        (5, (0, 0), 2, 2, False, 2),
        (5, (0, 0), 2, 2, True, 3),
        (4, (0, 1), 2, 2, True, 2),  # the third would begin in the padding after the axis
        (4, (1, 1), 2, 2, True, 3),  # the third begins at the last element
        (4, (0, 3), 1, 3, True, 2),
        (3, (0, 0), 5, 1, False, -1),
        (3, (0, 0), 5, 3, True, 1),
    ],
)
def test_last_window_overhangs_unless_it_begins_in_the_padding(
    length: int, pads: tuple[int, int], reach: int, stride: int, ceil: bool, expected: int
) -> None:
    assert window_count(length, pads, reach, stride, ceil=ceil) == expected
