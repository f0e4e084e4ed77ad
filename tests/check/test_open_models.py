"""Random models with open dims: verdicts agree with those for dims that are chosen.

OPEN_MODELS is the number of models, 16 unless the environment says otherwise.
"""

import os
import random
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

import pytest

from atc_py import api
from atc_py.check.findings import ModelCheck, Standing
from atc_py.diag.codes import BAD_INPUT_SHAPE
from atc_py.pipeline.judging import key_of
from tests.check.open_models import random_open_model
from tests.sampling import sampled

COUNT = int(os.environ.get("OPEN_MODELS", "16"))
PARTS = 8
CHOICES = ((1, 16, 16), (2, 32, 32), (1, 64, 64), (2, 8, 8), (1, 9, 7), (3, 1, 1), (2, 16, 16))
"""Batch, height and width."""


def shapes(open_axes: Sequence[int]) -> Iterator[str]:
    """Yield texts for --input-shape that choose the open axes."""
    for choice in CHOICES:
        dims = [2, 3, 16, 16]
        for axis, value in zip((0, 2, 3), choice, strict=True):
            if axis in open_axes:
                dims[axis] = value
        yield f"x:{','.join(map(str, dims))}"


def errors(check: ModelCheck) -> set[Hashable]:
    return {key_of(each) for each in check.findings if each.standing is Standing.ERROR}


def wrong_with(path: Path, open_axes: Sequence[int]) -> Iterator[str]:
    """Yield how the verdict with open dims contradicts those with dims that are chosen."""
    (open_,) = api.check_models(path).models
    texts = [*shapes(open_axes), *([open_.shape_hint] if open_.hint_fits else [])]
    fixed = {
        text: api.check_models(path, input_shape=text).models[0] for text in dict.fromkeys(texts)
    }
    sound = [text for text, each in fixed.items() if each.standing is not Standing.ERROR]
    if open_.standing is Standing.ERROR and sound:
        yield f"an error, but sound with {sound[0]}"
    if open_.standing not in {Standing.ERROR, Standing.UNKNOWN} and not sound:
        yield f"{open_.standing.value}, but an error with every choice"
    for text, each in fixed.items():
        broken = {fault.code for fault in each.faults}
        if not broken and errors(open_) - errors(each):
            yield f"an error that is none with {text}: {errors(open_) - errors(each)}"
        if BAD_INPUT_SHAPE in broken:
            rest = [fault for fault in each.faults if fault.code is not BAD_INPUT_SHAPE]
            once = len(each.faults) - len(rest) == 1 and set(rest) <= set(open_.faults)
            if not once or any(found.standing is Standing.UNKNOWN for found in each.findings):
                yield f"dims that do not fit are told with more than that: {text}"
    if open_.hint_fits and errors(fixed[open_.shape_hint]) - errors(open_):
        yield f"the shape proposed is broken: {open_.shape_hint}"


@pytest.mark.parametrize("part", sampled([0], range(1, PARTS)))
def test_verdicts_with_open_dims_agree_with_those_for_chosen_dims(
    part: int, tmp_path: Path
) -> None:
    wrong = []
    for seed in range(part, COUNT, PARTS):
        proto, open_axes = random_open_model(random.Random(seed))  # noqa: S311  (no secrets here)
        path = tmp_path / f"{seed}.onnx"
        path.write_bytes(proto.SerializeToString())
        wrong += [f"{seed}: {text}" for text in wrong_with(path, open_axes)]
    assert not wrong, "\n".join(wrong)
