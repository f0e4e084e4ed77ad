"""Models that are refused: onnxruntime runs them, or the program ends; and both sides compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.adapters.exec.conftest import Ran

Run = Callable[..., Ran]


@pytest.mark.parametrize(("way", "runs"), [("main", 2), ("thread", 2), ("processes", 4)])
def test_refused_model_runs_in_onnxruntime_with_one_warning(
    ran: Run, models: Path, way: str, runs: int
) -> None:
    file = models / "refused.onnx"
    done = ran("refused.py", file, way)
    assert (done.status, done.out) == (0, "done\n"), done.err
    assert done.err.count("atc-py: warning[ATC7061]") == 1
    assert f"{file} runs in onnxruntime: ATC3001: Mish" in done.err
    assert done.model["where"] == "onnxruntime"
    assert (done.model["npu"]["runs"], done.model["onnxruntime"]["runs"]) == (0, runs)
    (reason,) = done.model["fallbacks"]
    assert (reason["code"], reason["codes"], reason["shapes"]) == ("ATC3001", {"ATC3001": 1}, None)


@pytest.mark.parametrize("way", ["main", "thread", "processes"])
def test_strict_ends_the_program_wherever_it_is(ran: Run, models: Path, way: str) -> None:
    done = ran("refused.py", models / "refused.onnx", way, options=("--strict",))
    assert (done.status, done.out) == (1, ""), done.err
    assert "error[ATC3001" in done.err
    assert done.err.count("--strict ends the program") == 1
    assert (done.report["status"], done.model["onnxruntime"]["runs"]) == (1, 0)


def test_strict_is_silent_where_all_compiles(ran: Run, small: Path) -> None:
    done = ran("ends.py", small, "exit", 4, options=("--strict",))
    assert (done.status, done.model["where"]) == (4, "npu")


def test_fix_compiles_what_the_list_refuses(ran: Run, models: Path) -> None:
    done = ran("refused.py", models / "refused.onnx", "main", options=("--fix", "--strict"))
    assert (done.status, done.out) == (0, "done\n"), done.err
    assert (done.model["where"], done.model["npu"]["runs"]) == ("npu", 2)


def test_shadow_compares_each_output(ran: Run, small: Path) -> None:
    done = ran("ends.py", small, "exit", 0, options=("--shadow",))
    assert done.model["npu"]["runs"] == done.model["shadow"]["runs"] == 1
    (output,) = done.model["outputs"]
    assert (output["name"], output["npu_dtype"], output["onnxruntime_dtype"]) == (
        "y",
        "float32",
        "float32",
    )
    assert 0 < output["largest_error"] < 0.01  # float16 rounds
    assert 0.99999 < output["least_cosine"] <= output["cosine"] <= 1
    assert 0.9 < output["equal_argmax"] <= 1
    assert "Compared with onnxruntime" in done.err


@pytest.mark.parametrize("returned", ["npu", "onnxruntime"])
def test_shadow_returns_the_side_that_is_asked_for(
    ran: Run, small: Path, tmp_path: Path, returned: str
) -> None:
    for name, options in (
        ("plain", ("--shadow", "--shadow-return", returned)),
        ("npu", ()),
        ("exact", ("--precision-mode", "must_keep_origin_dtype", "--device", "sim")),
    ):
        done = ran("saves.py", small, tmp_path / f"{name}.npy", options=options)
        assert done.status == 0, done.err
    given, npu, exact = (np.load(tmp_path / f"{name}.npy") for name in ("plain", "npu", "exact"))
    assert np.array_equal(given, npu) == (returned == "npu")
    assert np.allclose(given, exact, atol=1e-5) == (returned == "onnxruntime")


def test_open_dims_compile_for_each_set_of_shapes(ran: Run, models: Path) -> None:
    done = ran("shapes.py", models / "free.onnx")
    assert done.status == 0, done.err
    assert [each["shapes"] for each in done.model["compilations"]] == [
        {"x": [batch, 3, 8, 8]} for batch in (1, 2)
    ]
    assert done.model["npu"]["runs"] == 4
    assert done.model["compile_seconds"] > done.model["npu"]["seconds"] > 0


def test_bound_value_runs_on_the_npu_and_others_do_not(ran: Run, models: Path) -> None:
    done = ran("bound.py", models / "switch.onnx", options=("--fix", "--bind", "k=2"))
    assert (done.status, done.out) == (0, "[2.0, 3.0, 2.0, 3.0]\n"), done.err
    assert (done.model["npu"]["runs"], done.model["onnxruntime"]["runs"]) == (2, 2)
    assert [each["code"] for each in done.model["fallbacks"]] == ["ATC1007"]
