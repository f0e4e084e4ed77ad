"""Random models through `check` and `convert`: the two never contradict each other.

`check` without an error and without anything that is not decided means that `convert` succeeds; an
error means that it does not. `python -m tests.fuzz.agree --count 20000 --seed 1` prints every
contradiction with the number that makes its model again, and how the rest ended.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from atc_py.options.compile_options import PrecisionMode
from atc_py.target import find_soc
from tests.fuzz.random_forms import random_form
from tests.fuzz.random_graphs import random_graph
from tests.fuzz.random_nodes import random_node
from tests.fuzz.verdict_pairs import verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from tests.fuzz.verdict_pairs import Pair

__all__ = ["Tally", "agreement", "random_model"]

_SOCS = ("sim", "sim", "Ascend310P3", "Ascend910B3", "Ascend310B1", "Ascend910B", "Ascend310")
_COMBINATIONS = 2
"""Precision modes and SoCs that a model is tried with."""

_SOURCES = {"node": random_node, "form": random_form, "graph": random_graph}
_SHARES = (40, 35, 25)


@dataclass
class Tally:
    """What became of the models.

    Attributes:
        models: how many there were.
        pairs: how often both commands were asked.
        outcomes: pairs by what became of them.
        kinds: contradictions by kind.
        examples: labels of the first contradictions of each kind.
        seconds: the longest that a pair took, and its label.
    """

    models: int = 0
    pairs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    seconds: tuple[float, str] = (0.0, "")

    def take(self, pair: Pair, label: str, seconds: float) -> None:
        """Count one pair."""
        self.pairs += 1
        self.outcomes[pair.outcome] += 1
        self.seconds = max(self.seconds, (seconds, label))
        if pair.kind:
            self.kinds[pair.kind] += 1
            self.examples.setdefault(pair.kind, []).append(label)

    @property
    def lines(self) -> list[str]:
        """What became of them, in lines."""
        found = [f"{self.models} models, {self.pairs} pairs of check and convert"]
        found += [f"  {count:7} {name}" for name, count in self.outcomes.most_common()]
        found.append(f"slowest pair {self.seconds[0]:.1f} s: {self.seconds[1]}")
        found.append(f"{sum(self.kinds.values())} contradictions of {len(self.kinds)} kinds")
        for kind, count in self.kinds.most_common():
            found.append(f"  {count:5} {kind}")
            found += [f"          {label}" for label in self.examples[kind][:3]]
        return found


def random_model(seed: int, number: int) -> tuple[str, onnx.ModelProto]:
    """Case `number` of a round: its label, and the model."""
    rng = random.Random(f"agree:{seed}:{number}")  # noqa: S311  (to be made again, not secret)
    (name,) = rng.choices(list(_SOURCES), _SHARES)
    model = _SOURCES[name](rng)
    operators = ",".join(node.op_type for node in model.graph.node)
    return f"#{seed}:{number} {name} {operators}", model


def agreement(seed: int, numbers: Sequence[int]) -> Tally:
    """Ask both commands about the cases `numbers` of a round."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        for number in numbers:
            label, model = random_model(seed, number)
            path.write_bytes(model.SerializeToString())
            tally.models += 1
            rng = random.Random(f"modes:{seed}:{number}")  # noqa: S311  (as above)
            for mode, soc in _combinations(rng):
                started = time.perf_counter()
                pair = verdicts(path, precision_mode=mode, soc=soc)
                tally.take(pair, f"{label} {mode} {soc}", time.perf_counter() - started)
    return tally


def _combinations(rng: random.Random) -> list[tuple[str, str]]:
    """Modes and SoCs that go together; the default mode more often than others."""
    modes = [*PrecisionMode, PrecisionMode.FORCE_FP16, PrecisionMode.FORCE_FP16]
    found: list[tuple[str, str]] = []
    while len(found) < _COMBINATIONS:
        mode, soc = rng.choice(modes), rng.choice(_SOCS)
        if not mode.is_bfloat16 or find_soc(soc).bfloat16:
            found.append((mode.value, soc))
    return found


def main(args: Sequence[str] | None = None) -> int:
    """Run a round; 1 where there is a contradiction."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=int(os.environ.get("COUNT") or 20_000))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or 1))
    parser.add_argument("--first", type=int, default=0)
    found = parser.parse_args(args)
    tally = agreement(found.seed, range(found.first, found.first + found.count))
    print("\n".join(tally.lines))  # noqa: T201
    return bool(tally.kinds)


if __name__ == "__main__":
    sys.exit(main())
