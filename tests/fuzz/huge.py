"""Sound small models with one number made huge: no command hangs, or takes more than its limit.

The number is a dim, an attribute, an element of a constant or an opset; the model one node of a
listed operator, a rule's own example, or a form that nearly fits.
"""

import argparse
import importlib
import json
import os
import pkgutil
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, numpy_helper

import atc_py
from atc_py.diag import AtcError
from atc_py.fix.rule import load_rules
from atc_py.tensor.shapes import closed_shape
from tests.fix.cases import write_case
from tests.fuzz.cases import MutatedModel
from tests.fuzz.random_forms import random_form
from tests.fuzz.seed_models import seed_models
from tests.fuzz.trial import Step, run_command

LIMIT_MIB = 512
"""The --max-memory of every command."""

ALLOWED_MIB = 200
"""What the process may hold beside."""

SECONDS = 60

_PAGES = frozenset({"report", "sweep"})

_LOADED = frozenset(
    {"cli", "compare", "device", "emit", "fix", "lowering", "passes", "pipeline", "report", "sweep"}
)

_ADDRESSES = 6 * 2**30
"""Bytes of addresses of a trial: one that forgets its limit must not take the machine."""

_INTEGERS = frozenset({onnx.TensorProto.INT32, onnx.TensorProto.INT64})
_FEW = 16
"""Elements of a constant that may be a shape, a depth or pads."""

_MOST_FED = 2**20
"""Elements of an input that this process makes itself."""

_POWERS = (20, 24, 26, 28, 28, 28, 30, 31, 34, 40, 62)


@dataclass(frozen=True)
class HugeTrial:
    """How one command ended.

    Attributes:
        step: its status and codes.
        peak_mib: memory of its process at the peak, libraries included.
        seconds: what it took.
    """

    step: Step
    peak_mib: int
    seconds: float

    @property
    def failure(self) -> str:
        """What must not be, or ""."""
        if self.peak_mib > LIMIT_MIB + ALLOWED_MIB:
            return f"{self.step.command} took {self.peak_mib} MiB"
        if self.step.command in _PAGES and self.step.status == 1:
            return ""  # the page says what the codes are
        if self.step.command == "fix" and "outputs are infinite or NaN" in self.step.failure:
            return ""  # it says so, without a code
        return f"{self.step.command}: {self.step.failure}" if self.step.failure else ""


def huge_model(seed: int, number: int) -> MutatedModel:
    """Return case `number` of the round `seed`; the same bytes whenever it is made."""
    rng = random.Random(f"huge {seed}:{number}")  # noqa: S311  (a case must be made again, not secret)
    name, model = _sound_model(rng, number)
    places = list(_numbers(model))
    what, write = rng.choice(places)
    value = 2 ** rng.choice(_POWERS) + rng.choice((-1, 0, 0, 0, 1))
    write(value)
    label = f"{name} {what} = {value} #{seed}:{number}"
    return MutatedModel(label, bytes(model.SerializePartialToString()))


def _sound_model(rng: random.Random, number: int) -> tuple[str, onnx.ModelProto]:
    """Return a sound model: kinds take turns, and so do the operators and rules of a kind."""
    at, kind = divmod(number, 3)
    if kind == 0:
        seeds = seed_models(shared=False)
        found = seeds[(at * 7) % len(seeds)]
        return found.name, onnx.ModelProto.FromString(found.data)
    if kind == 1:
        rules = list(load_rules().values())
        rule = rules[(at * 7) % len(rules)]
        with tempfile.TemporaryDirectory() as folder:
            return rule.name, onnx.load(write_case(rule.example, Path(folder) / "case.onnx"))
    model = random_form(rng, rng.choice(("base", "cann-9.0")))
    return f"form {model.graph.node[0].op_type}", model


def _numbers(model: onnx.ModelProto) -> Iterator[tuple[str, Callable[[int], None]]]:
    """Yield the numbers of a model: what each is, and a function that writes another."""
    graph = model.graph
    for value in graph.input:
        for at, dim in enumerate(value.type.tensor_type.shape.dim):
            yield f"dim {at} of {value.name}", partial(setattr, dim, "dim_value")
    for node in graph.node:
        yield from _attributes(node)
    for tensor in graph.initializer:
        if tensor.data_type in _INTEGERS and 0 < prod(tensor.dims) <= _FEW:
            for at in range(prod(tensor.dims)):
                yield f"{tensor.name}[{at}]", partial(_set_element, tensor, at)
    for entry in model.opset_import:
        yield f"opset {entry.domain}", partial(setattr, entry, "version")


def _attributes(node: onnx.NodeProto) -> Iterator[tuple[str, Callable[[int], None]]]:
    """Yield the numbers in attributes of a node."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.INT:
            yield attribute.name, partial(setattr, attribute, "i")
        for at in range(len(attribute.ints)):
            yield f"{attribute.name}[{at}]", partial(attribute.ints.__setitem__, at)


def _set_element(tensor: onnx.TensorProto, at: int, value: int) -> None:
    """Write one element of a constant of integers."""
    array = numpy_helper.to_array(tensor).copy()
    array.reshape(-1)[at] = min(value, int(np.iinfo(array.dtype).max))
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _by_interface(path: Path) -> Step:
    """Convert and run through the Python interface."""
    try:
        with atc_py.limited_memory(f"{LIMIT_MIB}M"):
            om = path.with_suffix(".api.om")
            atc_py.convert(path, om)
            with atc_py.load(om) as model:
                shapes = [closed_shape(each.shape) for each in model.inputs]
                if all(prod(each) < _MOST_FED for each in shapes):
                    ports = zip(model.inputs, shapes, strict=True)
                    model.run({e.name: np.ones(shape, e.dtype.numpy) for e, shape in ports})
    except AtcError as error:
        return Step("interface", int(error.exit_code), tuple(e.code.id for e in error.diagnostics))
    except Exception as error:  # noqa: BLE001  (what is looked for)
        return Step("interface", 70, (), repr(error))
    return Step("interface", 0, ())


def _command(*args: str) -> Callable[[Path], Step]:
    """Return what runs a command line on a model."""
    options = ("--max-memory", f"{LIMIT_MIB}M")

    def run(path: Path) -> Step:
        given = [each.replace("FILE", str(path.with_suffix(""))) for each in args]
        return run_command(given[0], str(path), *given[1:], *options)

    return run


COMMANDS: dict[str, Callable[[Path], Step]] = {
    "check": _command("check"),
    "convert": _command("convert", "-o", "FILE.om"),
    "run": lambda path: run_command(
        "run", str(path.with_suffix(".om")), "--random", "1", "--max-memory", f"{LIMIT_MIB}M"
    ),
    "fix": _command("fix", "-o", "FILE.fixed.onnx"),
    "compare": _command("compare"),
    "report": _command("report", "-o", "FILE.html"),
    "sweep": _command("sweep", "-o", "FILE.sweep"),
    "interface": _by_interface,
}
"""What each model goes through, by name."""


def try_huge(path: Path, commands: Sequence[str] = tuple(COMMANDS)) -> Iterator[HugeTrial]:
    """Yield how each command took the file at `path`, each in a process of its own."""
    path.with_suffix(".om").unlink(missing_ok=True)
    verdicts: dict[str, int] = {}
    for name in commands:
        if name == "run" and not path.with_suffix(".om").exists():
            continue
        trial = try_command(partial(COMMANDS[name], path), name)
        verdicts[name] = trial.step.status
        yield trial
    checked, converted = verdicts.get("check"), verdicts.get("convert")
    if None not in {checked, converted} and (checked == 0) != (converted == 0):
        yield HugeTrial(Step("verdict", 70, (), f"check {checked}, convert {converted}"), 0, 0)


def try_command(command: Callable[[], Step], name: str) -> HugeTrial:
    """Run a command in a fork of this process; return how it ended and what it took."""
    started = time.monotonic()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setpgid(0, 0)
        _tried(command, name, writing)
    os.close(writing)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.alarm(SECONDS)
    with os.fdopen(reading, "rb") as stream:
        text = stream.read()
    _, status, usage = os.wait4(child, 0)
    signal.alarm(0)
    seconds = round(time.monotonic() - started, 1)
    step = (
        Step(**{**json.loads(text), "codes": tuple(json.loads(text)["codes"])})
        if text
        else Step(name, 70, (), f"ended with {status} after {seconds} s")
    )
    return HugeTrial(step, usage.ru_maxrss // 1024, seconds)


def _tried(command: Callable[[], Step], name: str, writing: int) -> None:
    """Run a command, write its step to a pipe, and end the process."""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
        step = command()
        fields = {"command": name, "status": step.status, "codes": step.codes}
        os.write(writing, json.dumps({**fields, "failure": step.failure[-3000:]}).encode())
    finally:
        os._exit(0)


def load_commands() -> None:
    """Import what commands import when they need it, once for all forks of this process."""
    for module in pkgutil.walk_packages(atc_py.__path__, "atc_py."):
        if module.name.split(".")[1] in _LOADED:
            importlib.import_module(module.name)
    for name in ("onnx.reference.ops", "onnxruntime"):
        importlib.import_module(name)


def main(args: Sequence[str] | None = None) -> int:
    """Run a round; 1 where a case failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=int(os.environ.get("HUGE_COUNT", "330")))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("HUGE_SEED", "1")))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--commands", default=",".join(COMMANDS))
    given = parser.parse_args(args)
    load_commands()
    failed, most, slowest = 0, (0, ""), (0.0, "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        for number in range(given.first, given.first + given.count, given.step):
            case = huge_model(given.seed, number)
            path.write_bytes(case.data)
            for trial in try_huge(path, given.commands.split(",")):
                label = f"{trial.step.command} of {case.label}"
                most = max(most, (trial.peak_mib, label))
                slowest = max(slowest, (trial.seconds, label))
                if trial.failure:
                    failed += 1
                    print(f"FAILED {case.label}: {trial.failure}", flush=True)  # noqa: T201
    print(f"{failed} failed; most memory {most}; slowest {slowest}")  # noqa: T201
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
