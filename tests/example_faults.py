"""Faults that no input of an example can cause, by name: contexts in which they occur."""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from atc_py.device.ort import model as emulated
from atc_py.device.ort.body import find_emulation
from atc_py.fix import rule as rules
from atc_py.ir import Graph
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.merge_common_nodes import MergeCommonNodesPass
from atc_py.quantizing.judging import ChannelErrors
from tests.example_boards import BOARD_FAULTS
from tests.hostile.sealed_models import members_of, sealed


class _Absent:
    """A finder that finds nothing of one package, and keeps others from finding it."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] == self._package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextmanager
def _in_place(package: str, module: Any) -> Iterator[None]:
    """Let a module, or nothing, be there in place of a package.

    What others import in the block stays: extension modules cannot be loaded twice.
    """
    own = {name for name in sys.modules if name.partition(".")[0] == package}
    kept = {name: sys.modules.pop(name) for name in own}
    if module is not None:
        sys.modules[package] = module
    try:
        with mock.patch.object(sys, "meta_path", [_Absent(package), *sys.meta_path]):
            yield
    finally:
        sys.modules.pop(package, None)
        sys.modules.update(kept)


def _without(package: str) -> AbstractContextManager[object]:
    """Let a package be absent, as in an environment in which it is not installed."""
    return _in_place(package, None)


@contextmanager
def _described(change: Callable[[Any], None]) -> Iterator[None]:
    """Change the description in net.om, and the digests with it."""
    path = Path("net.om")
    members = members_of(path.read_bytes())
    document = json.loads(members["model.json"])
    change(document)
    members["model.json"] = json.dumps(document).encode()
    path.write_bytes(sealed(members))
    yield


def _newer(document: Any) -> None:
    document["format_version"] = 99


def _negative(document: Any) -> None:
    document["tensors"][0]["shape"][0] = -1


def _past_arena(document: Any) -> None:
    places = document["memory"]["places"]
    places[next(at for at, place in enumerate(places) if isinstance(place, int))] = 1 << 40


@contextmanager
def _pass_that(breaks: Callable[[Graph], object]) -> Iterator[None]:
    """Let the pass merge-common-nodes break something after its work."""
    run = MergeCommonNodesPass.run

    def broken(self: MergeCommonNodesPass, graph: Graph, context: PassContext) -> int:
        changes = run(self, graph, context)
        breaks(graph)
        return changes + 1

    with mock.patch.object(MergeCommonNodesPass, "run", broken):
        yield


def _forget(_graph: Graph) -> None:
    raise KeyError("gelu")


_DEVICES = """
import time
from atc_py.device.sim.backend import SimBackend

class Hot(SimBackend):
    def run(self, handle, inputs):
        raise RuntimeError("the card is too hot")

class Stuck(SimBackend):
    def open(self):
        time.sleep(600)
"""


@contextmanager
def _odd_devices() -> Iterator[None]:
    """Install a package with two back ends: one whose run fails, and one that never opens."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "odd_devices.py").write_text(_DEVICES, encoding="utf-8")
        facts = Path(name) / "odd_devices-1.0.dist-info"
        facts.mkdir()
        head = "Metadata-Version: 2.1\nName: odd-devices\nVersion: 1.0\n"
        (facts / "METADATA").write_text(head, encoding="utf-8")
        points = "[atc_py.devices]\nhot = odd_devices:Hot\nstuck = odd_devices:Stuck\n"
        (facts / "entry_points.txt").write_text(points, encoding="utf-8")
        with mock.patch.object(sys, "path", [name, *sys.path]):
            try:
                yield
            finally:
                sys.modules.pop("odd_devices", None)


@contextmanager
def _without_form() -> Iterator[None]:
    """Let Relu have no form in ONNX's operators."""
    with mock.patch.object(
        emulated, "find_emulation", lambda op: None if op == "Relu" else find_emulation(op)
    ):
        yield


@contextmanager
def _rule(op: str) -> Iterator[None]:
    """Add a rule to `fix` that claims to be exact and writes Mish as another operator."""
    own = rules.load_rules()["window-1d"]
    rule = replace(
        own,
        name="wrong",
        operators=frozenset({"Mish"}),
        apply=lambda ctx: [ctx.op(op, ctx.name(0))],
    )
    with mock.patch.dict(rules.load_rules(), {"wrong": rule}):
        yield


class _Client:
    """A client of a Dask cluster, as far as it is asked before there are tasks."""

    def __init__(self, *_: object, **_how: object) -> None:
        pass

    def wait_for_workers(self, *_: object, **_how: object) -> None:
        pass

    def run(self, *_: object, **_how: object) -> dict[str, str]:
        return {"tcp://10.0.0.2:40131": "0.0.1"}

    def close(self, **_how: object) -> None:
        pass


class _LostClient(_Client):
    """A client that finds no scheduler."""

    def __init__(self, *_: object, **_how: object) -> None:
        super().__init__()
        raise OSError("Timed out trying to connect after 5 s")


def _dask(client: type[_Client]) -> AbstractContextManager[object]:
    """Let the package distributed be there, with that client alone."""
    return _in_place("distributed", SimpleNamespace(Client=client))


@contextmanager
def _wrong_correction() -> Iterator[None]:
    """Let biases be corrected by a multiple of their errors, away from them."""
    own = ChannelErrors.correction
    wrong = mock.patch.object(ChannelErrors, "correction", lambda self: -50 * own(self) - 0.1)
    with wrong:
        yield


FAULTS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "no-pillow": lambda: _without("PIL"),
    "pass-breaks-graph": lambda: _pass_that(lambda graph: graph.output_names.pop()),
    "pass-raises": lambda: _pass_that(_forget),
    "no-distributed": lambda: _without("distributed"),
    "no-pyarrow": lambda: _without("pyarrow"),
    "scheduler-gone": lambda: _dask(_LostClient),
    "worker-of-another-version": lambda: _dask(_Client),
    "correction-that-errs": _wrong_correction,
    "no-onnxruntime": lambda: _without("onnxruntime"),
    "no-form-of-relu": _without_form,
    "odd-devices": _odd_devices,
    "rule-that-errs": lambda: _rule("Relu"),
    "rule-that-repeats": lambda: _rule("Mish"),
    "om-of-another-version": lambda: _described(_newer),
    "om-with-negative-dim": lambda: _described(_negative),
    "om-with-tensor-past-arena": lambda: _described(_past_arena),
    **BOARD_FAULTS,
}
