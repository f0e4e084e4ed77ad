"""Damaged bytes of models: a session refuses them with a code, or runs them."""

import random

import onnxruntime
import pytest

from atc_py import AtcError, InferenceSession
from tests.adapters.session.models import layer, rows
from tests.adapters.session.test_choices import scaled_by_input
from tests.sampling import rounds

SEEDS = (
    layer().SerializeToString(),
    layer((2, 3), doc_string="d" * 20).SerializeToString(),
    scaled_by_input("Relu"),
)


def mutated(data: bytes, draw: random.Random) -> bytes:
    """Return bytes of which a few are others, are gone, or come twice."""
    found = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(found))
        kind = draw.randrange(3)
        if kind == 0:
            found[at] = draw.randrange(256)
        elif kind == 1:
            del found[at : at + draw.randint(1, 3)]
        else:
            found[at:at] = found[at : at + draw.randint(1, 8)]
    return bytes(found)


@pytest.mark.parametrize("number", rounds(20, 2000))
def test_mutated_model_raises_nothing_without_a_code(number: int) -> None:
    draw = random.Random(number)  # noqa: S311  (no secret)
    data = mutated(draw.choice(SEEDS), draw)
    codes = {"some"}
    options = onnxruntime.SessionOptions()
    options.add_free_dimension_override_by_name("M", 2)
    try:
        session = InferenceSession(data, draw.choice([None, options]))
        session.run(None, {each.name: rows(2) for each in session.get_inputs()})
    except AtcError as error:
        codes = {each.code.id for each in error.diagnostics}
    assert codes
    assert "ATC9001" not in codes
