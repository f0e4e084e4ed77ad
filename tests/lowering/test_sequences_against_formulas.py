"""Custom operators on sequences of different lengths, through the compiler, against formulas."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.diag import AtcError
from tests.lowering.custom_nodes import FORCE, KEEP, RELATIVE, near, normal, run

Array = NDArray[Any]


def _words(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


@pytest.mark.parametrize("mode", [KEEP, FORCE])
@pytest.mark.parametrize("constant", [True, False])
def test_pairs_of_rows(mode: str, *, constant: bool) -> None:
    first, second = (3, 0, 2), (1, 4, 3)
    x1, x2 = normal(sum(first), 4), normal(sum(second), 4)
    rows, at, other = [], 0, 0
    for one, two in zip(first, second, strict=True):
        rows += [x1[at + i] + x2[other + j] for j in range(two) for i in range(one)]
        at, other = at + one, other + two
    inputs = {"x1": x1, "x2": x2, "seq_len1": _words(*first), "seq_len2": _words(*second)}
    names = ("seq_len1", "seq_len2") if constant else ()
    (found,) = run("DynSeqOuter", inputs, [np.array(rows)], {}, mode=mode, constants=names)
    near(found, np.array(rows), RELATIVE[mode])


@pytest.mark.parametrize("mode", [KEEP, FORCE])
@pytest.mark.parametrize("constant", [True, False])
def test_windows_of_beams(mode: str, *, constant: bool) -> None:
    beams, frames, ksize = (2, 1), (5, 3), 3
    total = sum(one * two for one, two in zip(beams, frames, strict=True))
    alpha, energy = normal(total), normal(total, seed=1)
    wanted = np.zeros((sum(beams), sum(frames)), np.float32)
    row = column = start = 0
    for beam, frame in zip(beams, frames, strict=True):
        for at in range(beam):
            for place in range(frame):
                window = alpha[start + place : start + min(place + ksize, frame)]
                gate = 1 / (1 + np.exp(-energy[start + place]))
                wanted[row + at, column + place] = window.sum() * gate
            start += frame
        row, column = row + beam, column + frame
    inputs = {
        "alpha": alpha, "energy": energy, "offset": _words(*beams, *frames),
        "dec_data": normal(sum(beams), 6),
    }  # fmt: skip
    names = ("offset",) if constant else ()
    attributes = {"ksize": ksize}
    (found,) = run("MovingSumWithSigmoid", inputs, [wanted], attributes, mode=mode, constants=names)
    near(found, wanted, RELATIVE[mode])


def test_lengths_that_do_not_fit_are_refused() -> None:
    rows = np.zeros((2, 4), np.float32)
    inputs = {"x1": rows, "x2": rows, "seq_len1": _words(1), "seq_len2": _words(2)}
    with pytest.raises(AtcError, match="add up to"):
        run("DynSeqOuter", inputs, [rows], {}, constants=("seq_len1", "seq_len2"))
    uneven = {**inputs, "seq_len1": _words(1, 1)}
    with pytest.raises(AtcError, match="seq_len2"):
        run("DynSeqOuter", uneven, [rows], {}, constants=("seq_len1", "seq_len2"))
    line = np.zeros(3, np.float32)
    windows = {"alpha": line, "energy": line, "offset": _words(1, 2), "dec_data": rows[:1]}
    with pytest.raises(AtcError, match="has 2 frames of beams"):
        run("MovingSumWithSigmoid", windows, [rows], {"ksize": 1}, constants=("offset",))


@pytest.mark.parametrize(
    ("op", "reason"), [("Corr", "filter first"), ("LSTMP", "order of the gates")]
)
def test_arithmetic_that_is_not_published_is_refused(op: str, reason: str) -> None:
    half = np.zeros((1, 1, 3, 3), np.float16)
    if op == "Corr":
        inputs, results = {"filter": half, "x": half}, [half[:, :, :1, :1]]
    else:
        shapes = {"x": (1, 2, 3), "wx": (8, 3), "bias": (8,), "wr": (8, 2), "project": (2, 2)}
        inputs = {name: np.zeros(shape, np.float16) for name, shape in shapes.items()}
        results = [np.zeros(shape, np.float16) for shape in ((1, 2, 2), (1, 1, 2), (1, 1, 2))]
    with pytest.raises(AtcError, match=f"(?s)ATC3016.*{op} is not published.*{reason}"):
        run(op, inputs, results, {})
