"""Mutated models by number: the same seed and number give the same bytes again."""

import random
from dataclasses import dataclass

import onnx

from tests.fuzz.byte_mutations import mutate_bytes
from tests.fuzz.graph_mutations import MUTATIONS
from tests.fuzz.seed_models import seed_models

_BYTES_SHARE = 0.2
"""How many of the cases are damaged as bytes; the rest as graphs, some of these as bytes, too."""

_WEIGHTS = {"functions": 1, "rarities": 1, "the_graph": 1, "opsets": 2, "a_subgraph": 2}
"""How often a mutation is drawn, other ones 4 times: nearly all models are refused after these."""


@dataclass(frozen=True)
class MutatedModel:
    """A model that was sound.

    Attributes:
        label: what it was made of, and how.
        data: the bytes of its file.
    """

    label: str
    data: bytes


def mutated_model(seed: int, number: int, *, shared: bool = True) -> MutatedModel:
    """Return case `number` of the round `seed`.

    Args:
        seed: the round.
        number: the case.
        shared: start also from the models beside the project, where they are.
    """
    rng = random.Random(f"{seed}:{number}")  # noqa: S311  (a case must be made again, not secret)
    model = rng.choice(seed_models(shared=shared))
    label = f"{model.name} #{seed}:{number}"
    if rng.random() < _BYTES_SHARE:
        return MutatedModel(f"{label} bytes", mutate_bytes(model.data, rng))
    proto = onnx.ModelProto.FromString(model.data)
    done: list[str] = []
    weights = [_WEIGHTS.get(name, 4) for name in MUTATIONS]
    for name in rng.choices(list(MUTATIONS), weights, k=rng.choice((1, 1, 1, 1, 2, 2, 3, 5))):
        MUTATIONS[name](proto, rng)
        done.append(name)
    data = bytes(proto.SerializePartialToString())
    if rng.random() < 0.05:
        data = mutate_bytes(data, rng)
        done.append("bytes")
    return MutatedModel(f"{label} {', '.join(done)}", data)
