"""Hostile offline models through every command that reads them: one verdict, and a coded one.

Each is a model that was just converted, changed inside its archive and sealed again, so that all its
digests are right. `python -m tests.fuzz.sweep --worker tests.fuzz.offline_models` tries many; it
writes what `tests.fuzz.worker` writes.
"""

import json
import random
import tempfile
from collections.abc import Mapping
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from atc_py.api import convert
from atc_py.diag import AtcError
from atc_py.diag.codes import DEVICE_FAILED, DEVICE_MEMORY, MEMORY_LIMIT, NO_ONNX_FORM
from atc_py.ir import Engine
from atc_py.package.read_ahead import npy_header
from atc_py.target import operators
from atc_py.tensor.dtypes import DType
from tests.fuzz.seed_models import seed_models
from tests.fuzz.trial import Outcome, Step, run_command
from tests.fuzz.worker import main, measured
from tests.hostile.sealed_models import members_of, mutated, sealed

SECONDS = 30
"""Processor time that a case may take."""

COMMANDS = (
    ("info", "@"),
    ("run", "@", "--random", "1"),
    ("run", "@", "--random", "1", "--device", "ort"),
    ("export", "@", "-o", "@.onnx"),
    ("profile", "@"),
    ("kernels", "@"),
)
"""Everything that reads an offline model."""

_MODEL = "model.json"
_NUMBERS = (
    0,
    -1,
    1,
    2,
    3,
    7,
    8,
    63,
    100,
    -100,
    2**31 - 1,
    2**31,
    -(2**31),
    2**40,
    2**62,
    2**63 - 1,
)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 1e38, 1e308, -1e308)
_TEXTS = ("", "x", "constant", "edge", "reflect", "nearest", "linear", "max", "none", "NCHW", "ND")
_NAMES = ("", "x", "a/b", "../c", "a\0b", "a\nb", "\u202egnp", "é" * 300, "y", "x/int32")
_LARGEST = 2**20
"""Elements of a constant that is written anew."""


def hostile_model(seed: int, number: int, *, shared: bool) -> tuple[str, bytes]:
    """Return a label and the bytes of a case, the same whenever it is made."""
    generator = random.Random(f"{seed}:{number}")  # noqa: S311  (no secret)
    models = seed_models(shared=shared)
    while True:
        model = generator.choice(models)
        sound = _converted(model.name, shared=shared)
        if sound is not None:
            break
    members = members_of(sound)
    described = json.loads(members[_MODEL])
    changes = generator.choices(_CHANGES, _WEIGHTS, k=generator.choice((1, 1, 1, 2, 3)))
    changes.sort(key=lambda change: change is _any_place)  # the others know where to look
    for change in changes:
        if _is_whole(described):
            described = change(described, members, generator)
    if _is_whole(described) and generator.random() < 0.5:
        described["memory"] = None  # no plan contradicts the change then
    members[_MODEL] = json.dumps(described).encode()
    label = f"#{seed}:{number} {model.name} {' '.join(each.__name__ for each in changes)}"
    return label, sealed(members)


def try_offline_model(path: Path, *, unfit: bool = False) -> Outcome:
    """Give the model at `path` to every command; one that judges it otherwise than `info` fails.

    Two things are not known before: whether data are such as a node takes, which both devices find
    out in the run, and that ONNX has no form of some operators, which `export` and `ort` say.

    Args:
        path: the file.
        unfit: the data that are fed do not fit the sound model either, so that runs tell nothing.
    """
    steps = [run_command(*(part.replace("@", str(path)) for part in each)) for each in COMMANDS]
    read, run, ort, export, *others = (step.codes for step in steps)
    formless = ort == export == (NO_ONNX_FORM.id,)
    failed = {(code.id,) for code in (DEVICE_FAILED, DEVICE_MEMORY, MEMORY_LIMIT)}
    ran = bool(failed & {run, ort}) if unfit or formless else {run, ort} <= failed
    others += [] if ran else [run]
    others += [] if ran or formless else [ort]
    others += [] if formless else [export]
    if any(codes != read for codes in others) and not any(step.failure for step in steps):
        found = {" ".join(each): step.codes for each, step in zip(COMMANDS, steps, strict=True)}
        steps.append(Step("agreement", 0, (), f"verdicts differ: {found}"))
    return Outcome(tuple(steps))


@lru_cache(maxsize=64)
def _converted(name: str, *, shared: bool) -> bytes | None:
    """Convert a model; None where it is refused."""
    source = next(each for each in seed_models(shared=shared) if each.name == name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(source.data)
        try:
            convert(path, path.with_suffix(".om"))
        except AtcError:
            return None
        return path.with_suffix(".om").read_bytes()


@cache
def _is_unfit(name: str, *, shared: bool) -> bool:
    """Return True if the random data of a run do not fit the sound model: lengths, say."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.om"
        path.write_bytes(_converted(name, shared=shared) or b"")
        return bool(run_command("run", str(path), "--random", "1").status)


def _is_whole(described: Any) -> bool:
    """Return True if a description still has tensors and nodes to change."""
    lists = ("tensors", "nodes", "inputs", "outputs")
    return isinstance(described, dict) and all(
        isinstance(described.get(name), list)
        and described[name]
        and all(isinstance(row, dict) and "name" in row for row in described[name])
        for name in lists
    )


def _any_place(described: Any, _members: Mapping[str, bytes], generator: random.Random) -> Any:
    return mutated(described, generator)


def _attribute(described: Any, _members: Mapping[str, bytes], generator: random.Random) -> Any:
    nodes = [node for node in described["nodes"] if node.get("attributes")]
    if nodes:
        attributes = generator.choice(nodes)["attributes"]
        name = generator.choice(sorted(attributes))
        attributes[name] = _other_value(attributes[name], generator)
    return described


def _other_value(value: Any, generator: random.Random) -> Any:
    """Return another attribute of the same type."""
    if isinstance(value, list):
        kind: Any = value[0] if value else 1
        changed = [*value]
        how = generator.random()
        if changed and how < 0.6:
            changed[generator.randrange(len(changed))] = _other_value(kind, generator)
        elif changed and how < 0.8:
            changed.pop()
        else:
            changed.append(_other_value(kind, generator))
        return changed
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return generator.choice((*_TEXTS, *(dtype.value for dtype in DType)))
    return generator.choice(_FLOATS if isinstance(value, float) else _NUMBERS)


def _dtype(described: Any, members: dict[str, bytes], generator: random.Random) -> Any:
    tensor = generator.choice(described["tensors"])
    tensor["dtype"] = generator.choice(list(DType)).value
    _write_again(tensor, members, generator)
    return described


def _shape(described: Any, members: dict[str, bytes], generator: random.Random) -> Any:
    tensor = generator.choice(described["tensors"])
    shape = tensor["shape"] if isinstance(tensor.get("shape"), list) else []
    how = generator.random()
    if shape and how < 0.5:
        shape[generator.randrange(len(shape))] = generator.choice((*_NUMBERS[:9], None, 2**31))
    elif shape and how < 0.7:
        shape.pop(generator.randrange(len(shape)))
    elif how < 0.9:
        shape.insert(generator.randint(0, len(shape)), generator.choice((0, 1, 2, 3)))
    else:
        generator.shuffle(shape)
    tensor["shape"] = shape
    _write_again(tensor, members, generator)
    return described


def _data(described: Any, members: dict[str, bytes], generator: random.Random) -> Any:
    constants = [tensor for tensor in described["tensors"] if tensor.get("member")]
    if constants:
        _write_again(generator.choice(constants), members, generator)
    return described


def _write_again(tensor: Any, members: dict[str, bytes], generator: random.Random) -> None:
    """Write the member of a constant with odd numbers, as its type has it, where it can be one."""
    member, shape = tensor.get("member"), tensor.get("shape")
    if member not in members or not all(type(dim) is int and dim >= 0 for dim in shape):
        return
    dtype, count = DType(tensor["dtype"]), int(np.prod(shape, dtype=object))
    if count > _LARGEST:
        return
    numbers: tuple[float, ...] = _NUMBERS
    if dtype.is_float:
        numbers = (*_FLOATS, float("nan"), float("inf"))
    elif not dtype.is_integer:
        numbers = (0, 1)
    with np.errstate(all="ignore"):
        few = np.array([generator.choice(numbers[:8]), *generator.sample(numbers, 2)])
        values = np.resize(few, count).astype(dtype.numpy)
    members[member] = npy_header(dtype, tuple(shape)) + values.tobytes()


def _format(described: Any, _members: Mapping[str, bytes], generator: random.Random) -> Any:
    tensor = generator.choice(described["tensors"])
    tensor["format"] = generator.choice(("NCHW", "NHWC", "ND", "NC1HWC0", "FRACTAL_NZ"))
    return described


def _operands(described: Any, _members: Mapping[str, bytes], generator: random.Random) -> Any:
    node = generator.choice(described["nodes"])
    side = node.get(generator.choice(("inputs", "inputs", "inputs", "outputs")))
    if not isinstance(side, list):
        return described
    count, how = len(described["tensors"]), generator.random()
    if side and how < 0.3:
        side.pop()
    elif side and how < 0.5:
        side[generator.randrange(len(side))] = -1
    elif side and how < 0.8:
        side[generator.randrange(len(side))] = generator.randrange(count)
    else:
        side.append(generator.choice((-1, 0, generator.randrange(count))))
    return described


def _operator(described: Any, _members: Mapping[str, bytes], generator: random.Random) -> Any:
    node = generator.choice(described["nodes"])
    known = [row.name for row in operators()]
    node["op"] = generator.choice((*known, "Nothing"))
    return described


def _engine(described: Any, _members: Mapping[str, bytes], generator: random.Random) -> Any:
    node = generator.choice(described["nodes"])
    node["engine"] = generator.choice([engine.value for engine in Engine])
    node["scope"] = generator.choice((0, 1, 2, -1))
    return described


def _names(described: Any, _members: Mapping[str, bytes], generator: random.Random) -> Any:
    lists = generator.choice(("inputs", "outputs", "tensors", "nodes"))
    row = generator.choice(described[lists])
    others = [each["name"] for each in described["tensors"]] if "tensors" in described else []
    row["name"] = generator.choice((*_NAMES, *others))
    return described


def _order(described: Any, _members: Mapping[str, bytes], generator: random.Random) -> Any:
    nodes = described["nodes"]
    how = generator.random()
    at = generator.randrange(len(nodes))
    if how < 0.4:
        nodes.insert(generator.randint(0, len(nodes) - 1), nodes.pop(at))
    elif how < 0.7:
        nodes.pop(at)
    else:
        described["outputs"].append({"name": "more", "tensor": len(described["tensors"]) - 1})
    return described


_CHANGES = (
    _any_place, _attribute, _dtype, _shape, _data, _format, _operands, _operator, _engine, _names,
    _order,
)  # fmt: skip
_WEIGHTS = (3, 6, 2, 2, 4, 1, 3, 1, 1, 2, 1)


def _tried(folder: Path, seed: int, number: int, *, shared: bool) -> dict[str, object]:
    """Return one case; how it ended and what it took."""
    label, data = hostile_model(seed, number, shared=shared)
    path = folder / "model.om"
    unfit = _is_unfit(label.split()[1], shared=shared)
    path.write_bytes(data)
    return measured(number, label, partial(try_offline_model, path, unfit=unfit), SECONDS)


if __name__ == "__main__":
    main(_tried)
