"""The public names of the package: listed, and imported when they are used."""

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import atc_py
import atc_py.compare
from atc_py.device.sim.execution.session import SimModel
from atc_py.diag.codes import MEMORY_LIMIT


def test_every_public_name_is_listed_and_there() -> None:
    assert set(atc_py.__all__) <= set(dir(atc_py))
    for name in atc_py.__all__:
        assert getattr(atc_py, name) is not None
    assert "compare_model" in dir(atc_py.compare)


def test_listing_imports_nothing_heavy() -> None:
    code = (
        "import sys, atc_py\n"
        "assert 'convert' in dir(atc_py)\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'numpy', 'onnx', 'click'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("function", "name", "hint"),
    [
        ("convert", "precison_mode", ". Did you mean 'precision_mode'?"),
        ("check_models", "disable_pass", ""),
        ("compare_model", "keep_dtypes", ". Did you mean 'keep_dtype'?"),
    ],
)
def test_unknown_keyword_is_refused(function: str, name: str, hint: str) -> None:
    call: Any = getattr(atc_py.compare if function == "compare_model" else atc_py, function)
    message = f"{function}() got an unexpected keyword argument {name!r}{hint}"
    with pytest.raises(TypeError, match=rf"^{re.escape(message)}$"):
        call("model.onnx", **{name: "x"})


class Exhausted(os.PathLike[str]):
    """A path that takes more memory than there is."""

    def __fspath__(self) -> str:
        raise MemoryError("no 9 GiB")


FUNCTIONS = sorted({*atc_py.__all__} - {"AtcError", "Model", "__version__", "limited_memory"})


@pytest.mark.parametrize("function", FUNCTIONS)
def test_memory_that_runs_out_is_a_coded_error(function: str) -> None:
    options = {"plan_model": {"target": {"snr": 30}}}.get(function, {})
    with pytest.raises(atc_py.AtcError, match="memory ran out: no 9 GiB") as refused:
        getattr(atc_py, function)(Exhausted(), **options)
    assert [each.code for each in refused.value.diagnostics] == [MEMORY_LIMIT]


def test_memory_that_runs_out_in_a_run_is_a_coded_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '<ir_version: 8, opset_import: ["": 13]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    atc_py.convert(tmp_path / "m.onnx", tmp_path / "m.om")
    session = atc_py.InferenceSession(tmp_path / "m.onnx")

    def run_out(*_: object) -> None:
        raise MemoryError("no 9 GiB")

    monkeypatch.setattr(SimModel, "run", run_out)
    with atc_py.load(tmp_path / "m.om") as model:
        for call in (model.run, partial(session.run, None)):
            with pytest.raises(atc_py.AtcError, match="memory ran out: no 9 GiB") as refused:
                call({"x": np.ones(2, np.float32)})
            assert [each.code for each in refused.value.diagnostics] == [MEMORY_LIMIT]
