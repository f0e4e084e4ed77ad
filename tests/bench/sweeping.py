"""Time of a sweep: one process, two processes, and a Dask cluster of two workers on this machine."""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import onnx

from tests.bench.growing_models import SHAPES
from tests.bench.measuring import measure, say

MODELS = 60
SOCS = ("Ascend310P3", "Ascend910B4")
MODES = ("force_fp16", "must_keep_origin_dtype")
SIZES = (20, 40, 60, 80)

TABLES = ("table.jsonl", "table.csv", "index.html")
SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "models"


def sweeping() -> None:
    """Print the time of each, and of the two compared with one process; compare their tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_models(folder / "models", MODELS)
        rows = MODELS * len(SOCS) * len(MODES)
        say(f"sweep of {MODELS} models x {len(SOCS)} SoCs x {len(MODES)} modes: {rows} rows")
        say(f"  {'where':22} {'seconds':>8} {'rows/s':>7} {'/ serial':>9}")
        serial = _line("one process", folder, ["--jobs", "1"], rows, None)
        _line("two processes", folder, ["--jobs", "2"], rows, serial)
        if find_spec("distributed") is None:
            say("  Dask is not installed")
            return
        with _cluster() as address:
            _line("Dask, two workers", folder, ["--dask", address], rows, serial)


def write_models(folder: Path, count: int) -> None:
    """Write models: the shared networks, and small graphs of all kinds of sizes."""
    folder.mkdir()
    made = 0
    for path in sorted(SHARED.glob("*/model.onnx")):
        (folder / f"{path.parent.name}.onnx").write_bytes(path.read_bytes())
        made += 1
    for size, (kind, model) in product(SIZES, SHAPES.items()):
        if made < count:
            onnx.save(model(size), folder / f"{kind}_{size}.onnx")
            made += 1
    if made != count:
        raise SystemExit(f"{made} models were made, {count} are wanted")


def _line(where: str, folder: Path, options: list[str], rows: int, serial: float | None) -> float:
    """Run a sweep and print its line; return its seconds."""
    output = folder / where.replace(" ", "_")
    command = [sys.executable, "-m", "atc_py", "sweep", str(folder / "models"), "-o", str(output)]
    command += [
        "--soc",
        ",".join(SOCS),
        "--precision-mode",
        ",".join(MODES),
        "--profile",
        "--compare",
        "1",
    ]
    began = time.perf_counter()
    measure([*command, *options], status=(0, 1))
    seconds = time.perf_counter() - began
    ratio = "" if serial is None else f"{seconds / serial:9.2f}"
    say(f"  {where:22} {seconds:8.1f} {rows / seconds:7.2f} {ratio}")
    first = folder / "one_process"
    other = [each for each in TABLES if (output / each).read_bytes() != (first / each).read_bytes()]
    if other:
        say(f"  {', '.join(other)} differ from those of one process")
    return seconds


@contextmanager
def _cluster() -> Iterator[str]:
    """Give the address of a cluster that has started."""
    import distributed

    root = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        cluster.wait_for_workers(2)
        yield cluster.scheduler_address


if __name__ == "__main__":
    sweeping()
