"""Models for `fix` by number: mutated ones, random ones, and rules' own cases, changed at random."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx

from tests.fix.cases import write_case
from tests.fix.draws import all_draws
from tests.fuzz.cases import MutatedModel, mutated_model
from tests.fuzz.graph_mutations import MUTATIONS
from tests.fuzz.random_forms import random_form
from tests.fuzz.random_graphs import random_graph
from tests.fuzz.random_nodes import random_node

LISTS = ("base", "cann-9.0")

_UNLISTED = {
    "Celu": 12, "Gelu": 20, "HardSwish": 14, "IsInf": 10, "IsNaN": 9, "Mish": 18, "Not": 1,
    "Hardmax": 13, "Tan": 7, "ThresholdedRelu": 10, "Shrink": 9, "Acosh": 9, "Trilu": 14,
    "GlobalLpPool": 2, "MeanVarianceNormalization": 13, "Swish": 24,
}  # fmt: skip
"""Operators of one input that a list refuses, at some opsets, and the first of these."""

_SHARE = 0.4
"""How many of the models of rules are mutated as well."""


def fix_case(seed: int, number: int, *, shared: bool = True) -> MutatedModel:
    """Return case `number` of the round `seed`; the same bytes whenever it is made.

    Args:
        seed: the round.
        number: the case.
        shared: start also from the models beside the project, where they are.
    """
    rng = random.Random(f"fix {seed}:{number}")  # noqa: S311  (a case must be made again, not secret)
    kind = rng.choice(tuple(_KINDS))
    if kind == "mutated":
        return mutated_model(seed, number, shared=shared)
    name, model = _KINDS[kind](rng)
    return MutatedModel(f"{kind} {name} #{seed}:{number}", model.SerializePartialToString())


def _node(rng: random.Random) -> tuple[str, onnx.ModelProto]:
    """Return a random node of a list."""
    model = random_node(rng, rng.choice(LISTS))
    return model.graph.node[0].op_type if model.graph.node else "", model


def _form(rng: random.Random) -> tuple[str, onnx.ModelProto]:
    """Return a node whose geometry nearly fits."""
    model = random_form(rng, rng.choice(LISTS))
    return model.graph.node[0].op_type if model.graph.node else "", model


def _graph(rng: random.Random) -> tuple[str, onnx.ModelProto]:
    """Return some nodes, of which some became operators that no list has."""
    model = random_graph(rng, rng.choice(LISTS))
    changed = []
    for node in model.graph.node:
        if len(node.input) == 1 and len(node.output) == 1 and rng.random() < 0.5:
            del node.attribute[:]
            node.op_type = rng.choice(list(_UNLISTED))
            changed.append(node.op_type)
    if changed:
        opset = max(_UNLISTED[each] for each in changed)
        model.opset_import[0].version = max(model.opset_import[0].version, opset)
    return ", ".join(changed), model


def _rule(rng: random.Random) -> tuple[str, onnx.ModelProto]:
    """Return a case that a rule fits, perhaps mutated until it does not."""
    draws = all_draws()
    name = rng.choice(sorted(draws))
    case = draws[name](np.random.default_rng(rng.randrange(2**32)))
    with tempfile.TemporaryDirectory() as folder:
        model = onnx.load(write_case(case, Path(folder) / "case.onnx"))
    if rng.random() < _SHARE:
        mutation = rng.choice(list(MUTATIONS))
        MUTATIONS[mutation](model, rng)
        name = f"{name} {mutation}"
    return name, model


_KINDS: dict[str, Callable[[random.Random], tuple[str, onnx.ModelProto]]] = {
    "node": _node,
    "form": _form,
    "graph": _graph,
    "rule": _rule,
    "mutated": _node,
}
"""Makers by kind; `mutated` has another way."""
