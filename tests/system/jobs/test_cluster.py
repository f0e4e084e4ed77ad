"""Tasks on a Dask cluster: as on this machine, and what can be wrong with clusters."""

import gc
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from atc_py.diag import AtcError
from atc_py.system.jobs import cluster as on_cluster
from atc_py.system.jobs import open_executor
from tests.system.jobs.functions import logged, square
from tests.system.jobs.test_processes import check_ways

pytest.importorskip("distributed")


def test_tasks_on_a_cluster_end_as_on_this_machine(cluster: Any) -> None:
    with open_executor(dask=cluster.scheduler_address) as executor:
        assert executor.jobs == 2
        found = list(executor.map_unordered(square, range(7)))
        assert sorted((each.index, each.value) for each in found) == [(n, n * n) for n in range(7)]
        check_ways(executor)


def test_tasks_of_a_killed_worker_run_again(cluster: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    tasks = [(str(log), number, 0.2) for number in range(8)]
    with open_executor(dask=cluster.scheduler_address) as executor:
        values = []
        for each in executor.map_unordered(logged, tasks):
            assert each.failure is None
            values.append(each.value)
            if len(values) == 1:
                os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
    assert sorted(value for value in values if value is not None) == list(range(8))


def test_worker_of_another_version_is_refused_with_both_versions(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.wait_for_workers(2)
    monkeypatch.setattr(on_cluster, "__version__", "99.1")
    with (
        pytest.raises(
            AtcError, match=r"ATC7071: worker tcp.* has atc-py 0.*machine has atc-py 99.1"
        ),
        open_executor(dask=cluster.scheduler_address),
    ):
        pass


def test_worker_that_comes_later_is_refused_too(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_executor(dask=cluster.scheduler_address) as executor:
        monkeypatch.setattr(on_cluster, "__version__", "99.1")
        with pytest.raises(AtcError, match="ATC7071"):
            list(executor.map_unordered(square, range(3)))


def test_lost_scheduler_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_cluster, "_PATIENCE", 1.0)
    distributed = pytest.importorskip("distributed")
    found = distributed.LocalCluster(
        n_workers=1,
        processes=False,
        host="127.0.0.1",
        protocol="tcp://",
        dashboard_address="127.0.0.1:0",
    )
    with open_executor(dask=found.scheduler_address) as executor:
        outcomes = executor.map_unordered(square, range(1000))
        next(outcomes)
        found.close()
        with pytest.raises(AtcError, match=r"ATC7070: the Dask scheduler at .* was lost"):
            list(outcomes)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x"])
def test_scheduler_that_does_not_answer_is_an_error_within_seconds(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_cluster, "_PATIENCE", 1.0)
    began = time.monotonic()
    with pytest.raises(AtcError, match="does not answer") as error, open_executor(dask=address):
        pass
    assert error.value.diagnostics[0].code.id == "ATC7070"
    assert time.monotonic() - began < 10
    client = pytest.importorskip("distributed").Client
    left = [each.status for each in gc.get_objects() if type(each) is client]
    assert {*left} <= {"closed"}  # the collector would close it at a time when that waits for ever


def test_cluster_without_workers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(on_cluster, "_GATHERING", 1.0)
    with (
        distributed.LocalCluster(
            n_workers=0, host="127.0.0.1", protocol="tcp://", dashboard_address="127.0.0.1:0"
        ) as empty,
        pytest.raises(AtcError, match=r"ATC7070: the Dask scheduler at .* has no workers"),
        open_executor(dask=empty.scheduler_address),
    ):
        pass


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(AtcError, match="ATC1090"), open_executor(dask="tcp://127.0.0.1:9"):
        pass
