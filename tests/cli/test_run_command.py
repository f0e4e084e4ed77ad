"""`atc-py run` and `atc-py info`."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from atc_py.cli import run as run_command
from atc_py.device.backend import STORAGE_MODES
from tests.cli.conftest import Result

Atc = Callable[..., Result]

SHAPE = (1, 3, 8, 8)


@pytest.fixture
def x(om: Path) -> np.ndarray:
    """Return an input of `om`, saved beside it in every format that `run` reads."""
    assert om.exists()
    array = np.random.default_rng(3).standard_normal(SHAPE).astype(np.float32)
    np.save("x.npy", array)
    np.savez("x.npz", x=array)
    Path("x.bin").write_bytes(array.tobytes())
    Path("x.pb").write_bytes(numpy_helper.from_array(array, "x").SerializeToString())
    return array


@pytest.mark.usefixtures("x")
def test_every_input_format_gives_the_same_output(atc: Atc, om: Path) -> None:
    outputs = []
    for given in ("x=x.npy", "x.npy", "x.npz", "x=x.npz", "x=x.bin", "x.pb"):
        assert atc("run", om, "--input", given, "--output", "out").status == 0
        outputs.append(np.load("out/y.npy"))
    assert outputs[0].shape == (1, 4, 8, 8)
    assert outputs[0].dtype == np.float32
    for other in outputs[1:]:
        np.testing.assert_array_equal(other, outputs[0])


def test_random_input_is_reproducible(atc: Atc, om: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert atc("run", om, "--random", seed, "-o", name).status == 0
    a, b, c = (np.load(f"{name}/y.npy") for name in "abc")
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()


@pytest.mark.usefixtures("x")
def test_expected_output_passes_and_a_wrong_one_fails(atc: Atc, om: Path) -> None:
    atc("run", om, "--input", "x.npy", "-o", "out")
    y = np.load("out/y.npy")
    np.savez("expected.npz", y=y)
    passed = atc("run", om, "--input", "x.npy", "--expect", "expected.npz")
    assert (passed.status, "ok" in passed.out) == (0, True)
    wrong = y.copy()
    wrong.flat[5] += 0.02 * np.ptp(y)
    np.savez("expected.npz", y=wrong)
    failed = atc("run", om, "--input", "x.npy", "--expect", "expected.npz")
    assert (failed.status, "FAILED" in failed.out) == (4, True)
    assert failed.err.startswith("error[ATC7003 ")
    assert (
        atc("run", om, "-i", "x.npy", "--expect", "expected.npz", "--tolerance", 0.05).status == 0
    )


@pytest.mark.usefixtures("x")
def test_expected_output_of_another_shape_is_named(atc: Atc, om: Path) -> None:
    atc("run", om, "--input", "x.npy", "-o", "out")
    y = np.load("out/y.npy")
    np.save("expected.npy", y[..., None])
    failed = atc("run", om, "--input", "x.npy", "--expect", "expected.npy", "--tolerance", 1e9)
    shape = "x".join(map(str, y.shape))
    assert failed.status == 4
    assert f"y has the shape {shape}, but the expected data have {shape}x1" in failed.err
    assert "inf" not in failed.out + failed.err


def test_profile_shows_operators(atc: Atc, om: Path) -> None:
    done = atc("run", om, "--random", 0, "--profile")
    assert "Conv2D" in done.out
    assert "Time on this machine by operator" in done.out


def test_stored_tensors_give_the_same_bits(atc: Atc, om: Path) -> None:
    for storage in ("logical", "exact"):
        assert atc("run", om, "--random", 0, "--storage", storage, "-o", storage).status == 0
    assert Path("exact/y.npy").read_bytes() == Path("logical/y.npy").read_bytes()
    done = atc("run", om, "--random", 0, "--storage", "exact", "--profile")
    assert "TransData" in done.out


def test_ways_to_store_are_those_of_devices(atc: Atc, om: Path) -> None:
    assert run_command._STORAGE == STORAGE_MODES
    done = atc("run", om, "--random", 0, "--storage", "packed")
    assert done.status == 2
    assert "'packed' is not one of 'logical', 'exact'" in done.err


def test_run_json(atc: Atc, om: Path) -> None:
    done = atc("run", om, "--random", 0, "--profile", "--json").json
    assert done["outputs"]["y"]["shape"] == [1, 4, 8, 8]
    assert [node["op"] for node in done["nodes"]] == ["Cast", "Conv2D+Relu", "Cast"]


def test_overflow_in_float16_is_warned_of(atc: Atc, om: Path) -> None:
    np.save("big.npy", np.full(SHAPE, 60000, np.float32))
    done = atc("run", om, "--input", "big.npy")
    assert done.status == 0
    assert "warning[ATC7004 output-not-finite]" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ((), "ATC1006", "x"),
        (("--input", "x=gone.npy"), "ATC2001", "gone.npy"),
        (("--input", "z=x.npy"), "ATC1007", "names are x"),
        (("--input", "double.npy"), "ATC1007", "float64"),
        (("--input", "small.npy"), "ATC1007", "1x3x8x7"),
        (("--input", "short.bin"), "ATC1007", "768"),
        (("--input", "pickle.npy"), "ATC2008", "pickle.npy"),
        (("--input", "text.npy"), "ATC2008", "text.npy"),
        (("--input", "text.npz"), "ATC2008", "text.npz"),
        (("--input", "text.pb"), "ATC2008", "text.pb"),
        (("--random", "1", "--expect", "z=x.npy"), "ATC1007", "names are y"),
        (("--random", "1", "--device", "cuda"), "ATC7001", "sim"),
        (("--random", "one"), "ATC1001", "one"),
    ],
)
def test_data_that_does_not_fit(
    atc: Atc, om: Path, x: np.ndarray, arguments: tuple[str, ...], code: str, text: str
) -> None:
    np.save("double.npy", x.astype(np.float64))
    np.save("small.npy", x[..., :7])
    np.save("pickle.npy", np.array([{}]), allow_pickle=True)
    Path("short.bin").write_bytes(bytes(100))
    for suffix in ("npy", "npz", "pb"):
        Path(f"text.{suffix}").write_text("no tensor", encoding="utf-8")
    done = atc("run", om, *arguments)
    assert done.err.startswith(f"error[{code} "), done.err
    assert text in done.err
    assert done.status == (3 if code.startswith("ATC2") else 2)


def test_damaged_offline_models_are_refused_with_the_member(atc: Atc, om: Path) -> None:
    data = om.read_bytes()
    position = data.index(b"Conv2D")
    damaged = bytearray(data)
    damaged[position] ^= 1
    cases = {
        "cut.om": (data[: len(data) // 2], "ATC5001"),
        "flipped.om": (bytes(damaged), "ATC5003"),
        "noise.om": (np.random.default_rng(0).bytes(5000), "ATC5001"),
    }
    for name, (content, code) in cases.items():
        Path(name).write_bytes(content)
        for command in ("run", "info"):
            done = atc(command, name)
            assert done.status == 3
            assert done.err.startswith(f"error[{code} "), done.err
    assert "kernels/" in atc("info", "flipped.om").err or "model.json" in done.err
    Path("foreign.om").write_bytes(b"IMOD" + bytes(300))
    assert atc("info", "foreign.om").err.startswith("error[ATC5006 ")


def test_missing_offline_model(atc: Atc) -> None:
    done = atc("info", "gone.om")
    assert (done.status, "ATC2001" in done.err) == (3, True)


def test_info_shows_ports_and_operators(atc: Atc, om: Path) -> None:
    done = atc("info", om)
    for text in ("x", "float32", "1,3,8,8", "Conv2D", "aicore", "force_fp16"):
        assert text in done.out
    as_json = atc("info", om, "--json").json
    assert as_json["inputs"] == [
        {"name": "x", "dtype": "float32", "shape": [1, 3, 8, 8], "format": "NCHW"}
    ]
    assert as_json["report"]["source_operators"] == {"Conv": 1, "Relu": 1}


def test_offline_model_is_an_ordinary_zip_with_ordinary_arrays(om: Path, atc: Atc) -> None:
    import zipfile

    with zipfile.ZipFile(om) as archive:
        assert archive.testzip() is None
        name = next(name for name in archive.namelist() if name.startswith("weights/"))
        archive.extract(name)
    assert np.load(name).dtype == np.float16
    assert atc("info", om).status == 0
    assert onnx.__version__


@pytest.mark.parametrize("command", ["run"])
def test_onnx_model_is_distinguished_from_other_files(atc: Atc, model: Path, command: str) -> None:
    small = model.rename("my net.onnx")
    done = atc(command, small)
    assert (done.status, done.err[:14]) == (3, "error[ATC5001 ")
    assert "my net.onnx is an ONNX model, not an offline model" in done.err
    assert "compile it with `atc-py convert 'my net.onnx'`" in done.err
    assert "zip" not in done.err


def test_run_tells_how_far_it_is(om: Path) -> None:
    from atc_py.api import load

    seen: list[tuple[int, int] | None] = []
    with load(om) as model:
        feeds = {each.name: np.ones(SHAPE, each.dtype.numpy) for each in model.inputs}
        seen.append(model.progress())
        model.run(feeds)
        seen.append(model.progress())
    (_, total) = seen[0] or (0, 0)
    assert total > 1
    assert seen == [(0, total), (total, total)]


def test_terminal_shows_the_launches_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow:
        def progress(self) -> tuple[int, int]:
            return 3, 12

    stages: list[str] = []
    monkeypatch.setattr(run_command, "_PERIOD", 0.001)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with run_command._launches_shown(Slow(), stages.append):  # type: ignore[arg-type]
        while not stages:
            time.sleep(0.001)
    assert stages[0] == "3 of 12 launches"
