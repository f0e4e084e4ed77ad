"""Sweeps give the same bytes whatever runs them: one process, two, or a Dask cluster."""

import os
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atc_py.adapters.sweep.grid import combinations_of, named_models
from atc_py.adapters.sweep.inputs import SweepInputs
from atc_py.adapters.sweep.kept import KeptRows
from atc_py.adapters.sweep.row import SweepOptions, run_row
from atc_py.adapters.sweep.run import run_sweep
from atc_py.results.sweep import SweepVerdict
from atc_py.system.cache_folders import cache_folder, op_specs_dir
from atc_py.system.jobs import TaskFailure, TaskFailureKind
from atc_py.system.jobs import cluster as on_cluster
from atc_py.system.jobs.sent_files import forget_files, store_files
from atc_py.text import Text
from tests.adapters.sweep.test_command import rows_of, tables
from tests.system.jobs.failing import FailingExecutor

ARGS = ("sweep", "zoo", "--soc", "sim,Ascend310P3", "--profile", "--compare", "data")


@pytest.fixture
def data(tmp_path: Path) -> None:
    """Make samples for one model, and for all others."""
    (tmp_path / "data" / "inner" / "conv").mkdir(parents=True)
    values = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype(np.float32)
    for at, value in enumerate(values):
        np.save(tmp_path / "data" / "inner" / "conv" / f"{at}.npy", value[np.newaxis])
    np.savez(tmp_path / "data" / "conv.npz", x=values)


@pytest.mark.usefixtures("zoo", "data", "base_list")
def test_processes_and_cluster_give_the_table_of_one_process(
    atc: Any, tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last run sends models and samples, as though workers did not have them."""
    address = cluster.scheduler_address
    args = [each.replace("sim,", "") for each in ARGS]
    assert atc(*args, "--jobs", 1, "-o", "one").status == 1
    assert atc(*args, "--jobs", 2, "-o", "two").status == 1
    assert atc(*args, "--dask", address, "-o", "dask").status == 1
    monkeypatch.setattr(on_cluster._Cluster, "_is_shared", lambda _self, _bundle: False)
    assert atc(*args, "--dask", address, "-o", "sent").status == 1
    first = tables(tmp_path / "one")
    for other in ("two", "dask", "sent"):
        assert tables(tmp_path / other) == first, other
    rows = rows_of(tmp_path / "sent")
    assert all(row["report"] or row["model"] == "junk" for row in rows)
    assert all(row["cosine"] for row in rows if row["verdict"] == "compiles")
    kept = cache_folder("sent")
    assert kept is None or not list(kept.iterdir())  # they are removed at the end


def test_specifications_that_were_sent_are_those_that_hold(
    zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run a row as a worker does that has neither the model nor the folder of specifications."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model = zoo / "conv.onnx"
    specs = tmp_path / "specs"
    specs.mkdir()
    text = (op_specs_dir() / "base" / "nn" / "conv.yaml").read_text(encoding="utf-8")
    (specs / "conv.yaml").write_text(text.replace("[1, 4096]", "[1, 2]"), encoding="utf-8")
    compiling = {"op_specs": str(specs), "strict_list": True}
    given = SweepOptions(compiling=compiling, specs=specs)
    inputs = SweepInputs({"conv": model}, given)
    bundles = inputs.bundles(["conv"])
    assert [each.main for each in bundles] == [specs, model]
    for found in bundles:
        names = zip(found.names(), found.files, strict=True)
        store_files(found.digest, {name: path.read_bytes() for name, path in names})
    (each,) = combinations_of(["conv"], ["sim"], ["force_fp16"], ["base"])
    sent = {found.digest for found in bundles}
    task = inputs.finding(inputs.task(each, elsewhere=True), sent)
    digest = inputs.digest(each)
    model.unlink()
    shutil.rmtree(specs)
    row = run_row(task).row
    assert row.verdict is SweepVerdict.REFUSED, row.message
    assert "2" in row.message
    forget_files([*sent])
    specs.mkdir()
    assert SweepInputs({"conv": model}, given).digest(each) != digest


@pytest.mark.usefixtures("zoo", "data")
def test_worker_that_dies_in_the_middle_loses_and_doubles_no_row(
    atc: Any, tmp_path: Path, cluster: Any
) -> None:
    cluster.wait_for_workers(2)
    ended = threading.Event()

    def kill() -> None:
        rows = tmp_path / "out" / "rows"
        while not ended.is_set() and not (rows.exists() and any(rows.iterdir())):
            time.sleep(0.01)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    done = atc(*ARGS, "--dask", cluster.scheduler_address, "-o", "out", "--json")
    ended.set()
    killer.join()
    assert (done.status, done.json["rows"]) == (1, 8), done.err
    atc(*ARGS, "--jobs", 2, "-o", "here")
    assert tables(tmp_path / "out") == tables(tmp_path / "here")


def test_unreachable_scheduler_ends_the_command(
    atc: Any, zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(on_cluster, "_PATIENCE", 1.0)
    done = atc("sweep", zoo, "--dask", "tcp://127.0.0.1:9", "-o", "out")
    assert done.status == 4
    assert "error[ATC7070 cluster-failed]: the Dask scheduler at tcp://127.0.0.1:9" in done.err
    assert not (tmp_path / "out").exists()


def swept(zoo: Path, folder: Path, executor: FailingExecutor) -> Any:
    """Sweep the sound models for two SoCs."""
    models = {name: path for name, path in named_models([str(zoo)]).items() if "conv" in name}
    grid = combinations_of(models, ["sim", "Ascend310P3"], ["force_fp16"], ["base"])
    return run_sweep(grid, models, SweepOptions(language=None), executor, KeptRows(folder))


def test_each_kind_of_failure_is_a_verdict(zoo: Path, tmp_path: Path) -> None:
    kinds = dict(enumerate(TaskFailureKind))
    failures = {at: TaskFailure(kind, Text(f"it {kind.value}")) for at, kind in kinds.items()}
    done = swept(zoo, tmp_path / "out", FailingExecutor(failures))
    assert [row.verdict for row, _ in done.rows] == [
        SweepVerdict.BUG,
        SweepVerdict.CRASHED,
        SweepVerdict.TIMED_OUT,
        SweepVerdict.OUT_OF_MEMORY,
    ]
    assert [row.message for row in done.failed] == [f"it {kind.value}" for kind in TaskFailureKind]


def test_rows_before_the_executor_is_lost_are_kept(zoo: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="lost"):
        swept(zoo, tmp_path / "out", FailingExecutor(lost_at=3, jobs=1))
    again = FailingExecutor()
    done = swept(zoo, tmp_path / "out", again)
    assert (done.kept, len(again.given)) == (3, 1)
    assert all(row.verdict is SweepVerdict.COMPILES for row, _ in done.rows)
