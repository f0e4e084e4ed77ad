"""What boards bring back in examples: dumps of net.onnx, and results of net.kit."""

import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import msgspec
import numpy as np

from atc_py.adapters.board.layout import FACTS, HostFacts, Manifest, StepRecord
from atc_py.package.ge import dump_folder
from tests.board.returned import Returned
from tests.board.small_board import SOC, Array, SmallBoard

_KIT = Path("net.kit")
_FIRST = "convrelu"
"""Name of the first layer of net.onnx on the board."""


class _Back(Returned):
    """Results of a kit of net.onnx, with the steps of the script that are not done."""

    def __init__(self, kit: Path, folder: Path, board: SmallBoard) -> None:
        super().__init__(kit, folder, board)
        self.board = board
        self.undone: tuple[StepRecord, ...] = ()
        self.release(self.manifest.cann)
        self.kernels(3)

    @property
    def tree(self) -> Path:
        return self.folder / self.variant / "dump" / "s0" / "tree"

    @property
    def table(self) -> Path:
        return self.folder / self.variant / "msprof" / "s0" / "tables" / "op_summary_1.csv"

    def kernels(self, microseconds: float) -> None:
        """Let each kernel take so long."""
        self.board.table(self.table, microseconds)

    def release(self, cann: str) -> None:
        facts = HostFacts(soc=SOC, cann=cann)
        (self.folder / FACTS).write_bytes(msgspec.json.encode(facts))


def _board(kit: Path, folder: Path, **compiling: Any) -> SmallBoard:
    """The kit's model on a board with the kit's data."""
    document = (kit / "manifest.json").read_bytes()
    manifest = msgspec.json.decode(document, type=Manifest)
    feeds = {"x": np.load(kit / manifest.samples[0].inputs[0])}
    folder.mkdir()
    return SmallBoard(kit / manifest.model, folder, feeds, **compiling)


@contextmanager
def _results(
    spoil: Callable[[_Back], None], again: Path = _KIT, **compiling: Any
) -> Iterator[None]:
    """Put results of net.kit there: results.zip with a fault, and again.zip of a sound run.

    Args:
        spoil: changes the results before they are packed.
        again: kit of the sound run.
        compiling: keywords with which the model of results.zip is compiled on the board.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sound = _board(again, folder / "sound")
        odd = _board(_KIT, folder / "odd", **compiling) if compiling else sound
        back = _Back(_KIT, folder / "results", odd)
        spoil(back)
        for each in (back, _Back(again, folder / "again", sound)):
            shutil.copy(each.packed(each.undone), ".")
    yield


def _as_it_is(_back: _Back) -> None:
    pass


def _older_release(back: _Back) -> None:
    back.release("8.0.0")


def _wrong_layer(back: _Back) -> None:
    def halved(array: Array) -> Array:
        return np.asarray(array * np.float16(0.5))

    shutil.rmtree(back.tree)
    back.board.dump(back.tree, {_FIRST: halved})


def _second_execution(back: _Back) -> None:
    back.board.dump(back.tree, execution=1)


def _other_inputs(back: _Back) -> None:
    path = back.folder / back.variant / "plain" / "s0" / "run.json"
    run = json.loads(path.read_bytes()) | {"fed": ["0" * 64]}
    path.write_text(json.dumps(run))


def _no_profiler(back: _Back) -> None:
    back.table.unlink()
    name = f"{back.variant}/msprof/s0"
    back.undone = (StepRecord(name, "missing", message="no msprof: source set_env.sh"),)


def _damaged_dump(back: _Back) -> None:
    (file,) = back.tree.rglob("Softmax*")
    file.write_bytes(file.read_bytes()[:-16])


def _slow_kernels(back: _Back) -> None:
    back.kernels(400)


@contextmanager
def _dumps() -> Iterator[None]:
    """Put dumps of net.kit's model in the folder `dumps`."""
    with tempfile.TemporaryDirectory() as name:
        _board(_KIT, Path(name) / "board").dump(Path("dumps"))
    yield


@contextmanager
def _many_dumps() -> Iterator[None]:
    """Let the folder `dumps` seem to have a file more than is read."""
    scan = os.scandir
    entry = SimpleNamespace(name="file", is_dir=lambda **_: False, is_file=lambda **_: True)

    @contextmanager
    def scanned(place: Path) -> Iterator[Iterator[Any]]:
        with scan(place) as entries:
            more = dump_folder.MOST_FILES + 1 if place == Path("dumps") else 0
            yield itertools.chain(entries, itertools.repeat(entry, more))

    with _dumps(), mock.patch.object(dump_folder, "os", SimpleNamespace(scandir=scanned)):
        yield


BOARD_FAULTS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "board-dumps": _dumps,
    "board-dumps-of-many-files": _many_dumps,
    "board-results": lambda: _results(_as_it_is),
    "board-damaged-dump": lambda: _results(_damaged_dump),
    "board-wrong-layer": lambda: _results(_wrong_layer),
    "board-second-execution": lambda: _results(_second_execution),
    "board-other-switches": lambda: _results(_as_it_is, fusion_switch_file="off.cfg"),
    "board-other-inputs": lambda: _results(_other_inputs),
    "board-without-msprof": lambda: _results(_no_profiler),
    "board-of-another-release": lambda: _results(_older_release, again=Path("old.kit")),
    "board-slow": lambda: _results(_slow_kernels),
}
"""What came back from a board, by the name of an example's fault."""
