"""The public names of the package: listed, and imported when they are used."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

import atc_py
import atc_py.compare


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
