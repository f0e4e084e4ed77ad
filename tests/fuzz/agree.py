"""Random models through `check` and `convert`: the two never contradict each other.

`check` without an error and without anything that is not decided means that `convert` succeeds; an
error means that it does not. `python -m tests.fuzz.agree --count 20000 --seed 1` prints every
contradiction with the number that makes its model again, and how the rest ended. `--list` takes
the operators and the rules of another list.
"""

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import onnx

from atc_py.options.compile_options import DEFAULT_LIST, PrecisionMode
from atc_py.spec.lists import list_names
from atc_py.target import find_soc
from tests.fuzz.random_forms import random_form
from tests.fuzz.random_graphs import random_graph
from tests.fuzz.random_nodes import random_node
from tests.fuzz.verdict_pairs import Pair, Verdict, verdicts

_SOCS = (
    "sim", "sim", "Ascend310P3", "Ascend910B3", "Ascend310B1", "Ascend910B", "Ascend310",
    "Ascend610", "Ascend910_9391", "Ascend950PR_9599", "Hi3796CV300CS",
)  # fmt: skip
_COMBINATIONS = 2
"""Precision modes and SoCs that a model is tried with."""

_OPEN_SHARE = 0.15
"""How many of the models leave dims open, which the commands are given."""

_CONTROL_SHARE = 0.1
"""How many of the combinations have a finer control of precision."""

_CHUNK = 500
"""Cases that one process tries; what it keeps of them in memory goes with it."""

_SOURCES = {"node": random_node, "form": random_form, "graph": random_graph}
_SHARES = (40, 35, 25)


@dataclass(frozen=True)
class Asked:
    """The answers of both commands on a model in one precision mode for one SoC.

    Attributes:
        label: the case, its operators and the options.
        pair: the verdicts.
        seconds: how long they took.
    """

    label: str
    pair: Pair
    seconds: float


@dataclass
class Tally:
    """The outcomes of the models.

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

    def take(self, asked: Sequence[Asked]) -> None:
        """Count one model."""
        self.models += 1
        self.pairs += len(asked)
        for each in asked:
            kind = each.pair.kind
            self.outcomes[each.pair.outcome] += 1
            self.seconds = max(self.seconds, (each.seconds, each.label))
            if kind:
                self.kinds[kind] += 1
                self.examples.setdefault(kind, []).append(each.label)

    @property
    def lines(self) -> list[str]:
        """The outcomes of the models, in lines."""
        found = [f"{self.models} models, {self.pairs} pairs of check and convert"]
        found += [f"  {count:7} {name}" for name, count in self.outcomes.most_common()]
        found.append(f"slowest pair {self.seconds[0]:.1f} s: {self.seconds[1]}")
        found.append(f"{sum(self.kinds.values())} contradictions of {len(self.kinds)} kinds")
        for kind, count in self.kinds.most_common():
            found.append(f"  {count:5} {kind}")
            found += [f"          {label}" for label in self.examples[kind][:3]]
        return found


def random_model(
    seed: int, number: int, operator_list: str = DEFAULT_LIST
) -> tuple[str, onnx.ModelProto]:
    """Return case `number` of a round: its label, and the model."""
    rng = random.Random(f"agree:{seed}:{number}")  # noqa: S311  (to be made again, not secret)
    (name,) = rng.choices(list(_SOURCES), _SHARES)
    model = _SOURCES[name](rng, operator_list)
    operators = ",".join(node.op_type for node in model.graph.node)
    return f"#{seed}:{number} {name} {operators}", model


def tried(
    seed: int, numbers: Iterable[int], operator_list: str = DEFAULT_LIST
) -> Iterator[tuple[int, list[Asked]]]:
    """Ask both commands about the cases `numbers` of a round, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        for number in numbers:
            label, model = random_model(seed, number, operator_list)
            rng = random.Random(f"modes:{seed}:{number}")  # noqa: S311  (as above)
            shapes = _opened(model, rng)
            path.write_bytes(model.SerializeToString())
            asked = []
            for options in _combinations(model, path, rng):
                started = time.perf_counter()
                pair = verdicts(path, input_shape=shapes, operator_list=operator_list, **options)
                chosen = " ".join(str(value) for value in options.values())
                asked.append(Asked(f"{label} {chosen}", pair, time.perf_counter() - started))
            yield number, asked


def agreement(seed: int, numbers: Iterable[int], operator_list: str = DEFAULT_LIST) -> Tally:
    """Return the outcomes of the cases `numbers` of a round, in this process."""
    tally = Tally()
    for _, asked in tried(seed, numbers, operator_list):
        tally.take(asked)
    return tally


def guarded_agreement(
    seed: int,
    numbers: range,
    report: Callable[[Tally], None] | None = None,
    operator_list: str = DEFAULT_LIST,
) -> Tally:
    """Return the same in processes of their own: a case that ends one is a contradiction, too.

    `report` is called with the tally so far whenever a process has ended.
    """
    tally, left = Tally(), numbers
    while left:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(
            target=_send, args=(theirs, seed, left[:_CHUNK], operator_list)
        )
        process.start()
        theirs.close()
        done = 0
        with suppress(EOFError):
            while True:
                asked = ours.recv()
                tally.take(asked)
                done += 1
        process.join()
        if process.exitcode:
            crash = Verdict(crash=f"the process ends with exit status {process.exitcode}")
            tally.take([Asked(f"#{seed}:{left[done]}", Pair(crash, crash), 0.0)])
            done += 1
        left = left[done:]
        if report:
            report(tally)
    return tally


def _send(connection: Connection, seed: int, numbers: range, operator_list: str) -> None:
    """Try cases and send what they come to."""
    for _, asked in tried(seed, numbers, operator_list):
        connection.send(asked)


def _opened(model: onnx.ModelProto, rng: random.Random) -> dict[str, tuple[int, ...]]:
    """Leave some dims of inputs open, now and then, and say what they are instead."""
    shapes: dict[str, tuple[int, ...]] = {}
    for value in model.graph.input if rng.random() < _OPEN_SHARE else ():
        dims = value.type.tensor_type.shape.dim
        sizes = tuple(dim.dim_value for dim in dims)
        if not sizes or min(sizes) < 1 or not all(dim.HasField("dim_value") for dim in dims):
            continue
        shapes[value.name] = sizes
        for dim in rng.sample(list(dims), rng.randint(1, len(dims))):
            dim.dim_param = "n"
    return shapes


def _combinations(model: onnx.ModelProto, path: Path, rng: random.Random) -> list[dict[str, Any]]:
    """Return modes and SoCs that go together, now and then with a control of single nodes.

    The default mode comes more often than others.
    """
    modes = [*PrecisionMode, PrecisionMode.FORCE_FP16, PrecisionMode.FORCE_FP16]
    found: list[dict[str, Any]] = []
    while len(found) < _COMBINATIONS:
        mode, soc = rng.choice(modes), rng.choice(_SOCS)
        if mode.is_bfloat16 and not find_soc(soc).bfloat16:
            continue
        options: dict[str, Any] = {"precision_mode": mode.value, "soc": soc}
        if rng.random() < _CONTROL_SHARE:
            options |= _control(model, path, rng)
        found.append(options)
    return found


def _control(model: onnx.ModelProto, path: Path, rng: random.Random) -> dict[str, Any]:
    """Return a finer control for one node, an input or an output."""
    name = rng.choice([node.name for node in model.graph.node])
    kind = rng.choice(("keep_dtype", "customize_dtypes", "input_fp16_nodes", "output_type"))
    if kind == "input_fp16_nodes":
        inputs = [value.name for value in model.graph.input]
        return {kind: rng.choice(inputs)} if inputs else {}
    if kind == "output_type":
        return {kind: rng.choice(("FP16", "FP32", f"{name}:0:FP16"))}
    dtype = rng.choice(("float16", "float32", "int8", "bfloat16"))
    text = name if kind == "keep_dtype" else f"{name}::InputDtype:{dtype}"
    file = path.with_name(kind)
    file.write_text(f"{text}\n", encoding="utf-8")
    return {kind: file}


def main(args: Sequence[str] | None = None) -> int:
    """Run a round; 1 where there is a contradiction."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=int(os.environ.get("COUNT") or 20_000))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or 1))
    parser.add_argument("--first", type=int, default=0)
    lists = list_names()
    parser.add_argument("--list", choices=lists, default=os.environ.get("LIST") or DEFAULT_LIST)
    found = parser.parse_args(args)
    numbers = range(found.first, found.first + found.count)
    tally = guarded_agreement(found.seed, numbers, _show_progress, found.list)
    print("\n".join(tally.lines))  # noqa: T201
    return bool(tally.kinds)


def _show_progress(tally: Tally) -> None:
    """Write a line of progress, so that a round that is stopped has left its figures."""
    contradictions = sum(tally.kinds.values())
    line = f"{tally.models} models, {tally.pairs} pairs, {contradictions} contradictions"
    print(line, dict(tally.kinds), file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
