"""Back ends of other packages that raise, give false answers, die or hang: exit status 4, a message, in time."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest

import atc_py
from atc_py.device import registry
from atc_py.diag import AtcError, ExitCode
from atc_py.pipeline.running.model import Model
from tests.faults.models import small_model

DEVICES = """
import os, re, signal, time
import numpy as np
from atc_py.device.backend import NodeProfile
from atc_py.device.sim.backend import SimBackend
from atc_py.diag.codes import DEVICE_FAILED


class Loud(SimBackend):
    def run(self, handle, inputs):
        print("printed by the back end", flush=True)
        os.write(1, b"written by the back end")
        return super().run(handle, inputs)


class Raising(SimBackend):
    def run(self, handle, inputs):
        raise KeyError("slot 3")


class Leaving(SimBackend):
    def run(self, handle, inputs):
        raise SystemExit(0)


class Coded(SimBackend):
    def open(self):
        raise DEVICE_FAILED.error("the card is hot", help="wait")


class Lacking(SimBackend):
    def run(self, handle, inputs):
        return {}


class Adding(SimBackend):
    def run(self, handle, inputs):
        return {**super().run(handle, inputs), "mine": np.zeros(1)}


class Listing(SimBackend):
    def run(self, handle, inputs):
        return list(super().run(handle, inputs).values())


class Widening(SimBackend):
    def run(self, handle, inputs):
        return {k: v.astype(np.float64) for k, v in super().run(handle, inputs).items()}


class Cutting(SimBackend):
    def run(self, handle, inputs):
        return {k: v[:, :3] for k, v in super().run(handle, inputs).items()}


class Nested(SimBackend):
    def run(self, handle, inputs):
        return {k: v.tolist() for k, v in super().run(handle, inputs).items()}


class Misprofiling(SimBackend):
    def profile(self, handle):
        return ("fast",)


class Dying(SimBackend):
    def run(self, handle, inputs):
        os._exit(7)


class Crashing(SimBackend):
    def load(self, model):
        os.kill(os.getpid(), signal.SIGSEGV)


class Sleeping(SimBackend):
    def run(self, handle, inputs):
        time.sleep(600)


class Stuck(SimBackend):
    def open(self):
        re.match("(a+)+$", "a" * 60 + "b")
"""


@pytest.fixture(scope="module")
def om(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("om")
    atc_py.convert(small_model(folder), folder / "small.om")
    return folder / "small.om"


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package with all these back ends, each called as its class in lower case."""
    (tmp_path / "odd_devices.py").write_text(DEVICES)
    names = [line[6:].partition("(")[0] for line in DEVICES.splitlines() if line[:6] == "class "]
    facts = tmp_path / "odd_devices-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-devices\nVersion: 1.0\n")
    points = [f"{name.lower()} = odd_devices:{name}" for name in names]
    points.append("unimportable = no_such_module:Device")
    (facts / "entry_points.txt").write_text("\n".join(["[atc_py.devices]", *points]))
    monkeypatch.syspath_prepend(str(tmp_path))


def run(model: Model) -> np.ndarray:
    return model.run({"x": np.ones((1, 16, 12, 12), np.float32)})["y"]


def failure(om: Path, device: str, timeout: float | None) -> str:
    """Return the one finding of a run, as text."""

    def attempt() -> None:
        with atc_py.load(om, device=device, timeout=timeout) as model:
            run(model)
            model.profile()

    with pytest.raises(AtcError) as caught:
        attempt()
    (finding,) = caught.value.diagnostics
    assert finding.help
    return f"{caught.value.exit_code} {finding.code.id} {finding.message}"


LIES = [
    ("raising", "failed: its run stopped with KeyError: 'slot 3'"),
    ("leaving", "failed: its run stopped with SystemExit: 0"),
    ("coded", "the card is hot"),
    ("lacking", "it returned nothing for output 'y': float16 1x16x12x12"),
    ("adding", "it returned an output 'mine' that the model does not have"),
    ("listing", "its run returned list, not arrays by name"),
    ("widening", "output 'y' must be float16 1x16x12x12, found float64 1x16x12x12"),
    ("cutting", "output 'y' must be float16 1x16x12x12, found float16 1x3x12x12"),
    ("nested", "it returned list for output 'y'"),
    ("misprofiling", "its profile holds something other than NodeProfile"),
]


def _declared(om: Path) -> str:
    """Return the type of the model's output."""
    with atc_py.load(om) as model:
        return model.outputs[0].dtype.value


@pytest.mark.parametrize(("device", "said"), LIES)
def test_fault_of_a_back_end_is_reported_with_its_name(om: Path, device: str, said: str) -> None:
    found = failure(om, device, None)
    assert found.startswith("4 ATC7002 ")
    assert said.replace("float16", _declared(om)) in found
    assert device == "coded" or f"device {device!r} failed: " in found


@pytest.mark.parametrize("device", ["raising", "widening", "misprofiling"])
def test_fault_in_a_process_of_its_own_reads_the_same(om: Path, device: str) -> None:
    assert failure(om, device, 60) == failure(om, device, None)


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("dying", "its process ended with status 7 without a response"),
        ("crashing", "its process was ended by SIGSEGV"),
        ("leaving", "its run stopped with SystemExit: 0"),
    ],
)
def test_back_end_that_dies_is_reported(om: Path, device: str, said: str) -> None:
    assert failure(om, device, 60) == f"4 ATC7002 device {device!r} failed: {said}"


@pytest.mark.parametrize(
    ("device", "seconds", "said"),
    [
        ("sleeping", 8, "has not ended the run after 8 seconds"),
        ("stuck", 3, "has not opened after 3"),  # keeps a processor busy all the time
    ],
)
def test_back_end_that_hangs_is_stopped(om: Path, device: str, seconds: int, said: str) -> None:
    started = time.monotonic()
    found = failure(om, device, seconds)
    assert found.startswith("4 ATC7021 ")
    assert said in found
    assert time.monotonic() - started < 40


def test_what_a_back_end_prints_is_not_taken_for_an_answer(om: Path) -> None:
    with atc_py.load(om) as own, atc_py.load(om, device="loud", timeout=60) as other:
        np.testing.assert_array_equal(run(own), run(other))
        assert [row.name for row in own.profile()] == [row.name for row in other.profile()]


def test_simulator_in_a_process_of_its_own_gives_the_same(om: Path) -> None:
    with atc_py.load(om) as own, atc_py.load(om, timeout=0) as other:
        np.testing.assert_array_equal(run(own), run(other))
        for wrong in ({}, {"x": np.ones(3, np.float32)}, {"x": np.array([object()])}):
            with pytest.raises(AtcError) as caught:
                other.run(wrong)
            assert caught.value.exit_code is ExitCode.USAGE
        np.testing.assert_array_equal(run(own), run(other))


def test_unknown_and_unusable_devices_read_the_same_in_a_process(om: Path) -> None:
    for device in ("none", "unimportable"):
        assert failure(om, device, 60) == failure(om, device, None)
        assert failure(om, device, None).startswith("2 ATC7001")


@pytest.mark.parametrize("timeout", [-1.0, float("nan"), float("inf"), 1e10])
def test_time_limit_that_makes_no_sense_is_refused(om: Path, timeout: float) -> None:
    assert failure(om, "sim", timeout).startswith("2 ATC1001 the time limit must be")


def test_longest_time_limit_is_one_that_threads_take(om: Path) -> None:
    with atc_py.load(om, timeout=threading.TIMEOUT_MAX) as model:
        assert model.inputs


def test_own_device_is_the_registered_one() -> None:
    from atc_py.cli.run import _OWN_DEVICES

    assert set(_OWN_DEVICES) == registry.BUILT_IN
