"""The examples of `atc-py explain`, run for both languages; `make docs` writes their output again.

Each runs in a folder of its own, with files made first; what it prints is kept in the package.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnx.parser

__all__ = ["EXAMPLES", "FILE", "Example", "run_example", "stored_text"]

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "atc_py" / "report" / "explained" / "examples.json"

_TIME = re.compile(r"after \d+(\.\d+)? (µs|ms|s)\b|耗时 \d+(\.\d+)? (µs|ms|s)\b")

_HEAD = '<ir_version: 8, opset_import: ["" : 13]>'
MODELS = {
    "net": "(float[batch, 8] x) => (float[batch, 8] y) { y = Relu(x) }",
    "product": "(float[4, 8] x, float[8, 2] w) => (float[4, 2] y) { y = MatMul(x, w) }",
    "hidden": "(float[1, 8] x) => (float[1, 8] y) { h = Exp(x) y = Log(h) }",
}
REFUSED = '<ir_version: 8, opset_import: ["" : 14]> g (float[1, 8] x) => (float[1, 8] y) { y = HardSwish(x) }'


@dataclass(frozen=True)
class Example:
    """A command that ends with the code, and one that does not.

    Attributes:
        code: of the finding.
        before: what ends with it.
        after: the same, put right.
        first: commands that make files for both, whose output is not shown.
    """

    code: str
    before: str
    after: str
    first: tuple[str, ...] = ()


_NET = 'atc-py convert net.onnx --input-shape "x:1,8"'
_OM = (_NET,)

EXAMPLES = (
    Example("ATC1001", "atc-py convert net.onnx --precision-mode fp16", f"{_NET} --precision-mode force_fp16"),
    Example("ATC1002", 'atc-py convert net.onnx --input-shape "image:1,8"', _NET),
    Example("ATC1003", f"{_NET} --soc Ascend310P9", f"{_NET} --soc Ascend310P3"),
    Example("ATC1004", f"{_NET} --disable-pass fuse-relu", "atc-py convert --passes | head -4"),
    Example("ATC1006", "atc-py run net.om", "atc-py run net.om --random 1", _OM),
    Example("ATC1007", "atc-py run net.om --input x=short.npy", "atc-py run net.om --input x=x.npy", _OM),
    Example("ATC1008", "atc-py ops show Relo", "atc-py ops show Relu | head -4"),
    Example("ATC1020", f"{_NET} --precision-mode force_fp16 --precision-mode-v2 fp16", f"{_NET} --precision-mode-v2 fp16"),
    Example("ATC1021", f"{_NET} --soc Ascend310P3 --precision-mode allow_mix_precision_bf16", f"{_NET} --soc Ascend910B3 --precision-mode allow_mix_precision_bf16"),
    Example("ATC1022", f"{_NET} --out-nodes z", f"{_NET} --out-nodes y"),
    Example("ATC2001", "atc-py check nets.onnx", "atc-py check net.onnx"),
    Example("ATC2003", "atc-py check notes.txt", "atc-py check net.onnx"),
    Example("ATC2007", f"{_NET} -o absent/net.om", f"{_NET} -o net.om"),
    Example("ATC2008", "atc-py run net.om --input x=notes.npy", "atc-py run net.om --input x=x.npy", _OM),
    Example("ATC2020", f"{_NET} --customize-dtypes notes.txt", f"{_NET} --customize-dtypes dtypes.txt"),
    Example("ATC3001", "atc-py check refused.onnx", "atc-py convert refused.onnx --fix"),
    Example("ATC3004", "atc-py convert net.onnx", _NET),
    Example("ATC4002", "atc-py convert product.onnx --precision-mode must_keep_origin_dtype", "atc-py convert product.onnx --precision-mode force_fp16"),
    Example("ATC5001", "atc-py run net.onnx --random 1", "atc-py run net.om --random 1", _OM),
    Example("ATC7001", "atc-py run net.om --random 1 --device npu", "atc-py run net.om --random 1 --device sim", _OM),
    Example("ATC7003", "atc-py run net.om --input x=x.npy --expect y=other.npy", "atc-py run net.om --input x=x.npy --expect y=y.npy", _OM),
    Example(
        "ATC7004", "atc-py run half.om --input x=twelve.npy", "atc-py run exact.om --input x=twelve.npy",
        (
            "atc-py convert hidden.onnx -o half.om --precision-mode force_fp16",
            "atc-py convert hidden.onnx -o exact.om --precision-mode must_keep_origin_dtype",
        ),
    ),
)  # fmt: skip


def write_files(folder: Path) -> None:
    """Write what the commands read."""
    for name, text in MODELS.items():
        onnx.save(onnx.parser.parse_model(f"{_HEAD} {name} {text}"), folder / f"{name}.onnx")
    onnx.save(onnx.parser.parse_model(REFUSED), folder / "refused.onnx")
    values = np.linspace(-1, 1, 8, dtype=np.float32)[None]
    arrays = {
        "x": values,
        "y": values.clip(0),
        "other": values.clip(0) + 1,
        "short": values[:, :4],
        "twelve": np.full((1, 8), 12, np.float32),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    for name in ("notes.txt", "notes.npy"):
        (folder / name).write_text("remember: the milk, 2 bottles\n", encoding="utf-8")
    (folder / "dtypes.txt").write_text(
        "OpType::Relu::InputDtype:float32,OutputDtype:float32\n", encoding="utf-8"
    )


def run_example(example: Example) -> dict[str, dict[str, str]]:
    """Return what its two commands print, by language."""
    found = {}
    for language in ("en", "zh"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_files(folder)
            for line in example.first:
                _printed(folder, line, language)
            parts = {"before": example.before, "after": example.after}
            found[language] = {key: _printed(folder, line, language) for key, line in parts.items()}
    return found


def _printed(folder: Path, line: str, language: str) -> str:
    """Return what a command line prints on both streams, without its own time."""
    program = f'atc-py() {{ "{sys.executable}" -m atc_py "$@"; }}; '
    done = subprocess.run(
        ["/bin/bash", "-c", program + line],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "ATC_PY_LANG": language, "COLUMNS": "80"},
    )
    return _TIME.sub(lambda found: re.sub(r"\d+(\.\d+)?", "1.0", found[0]), done.stdout).rstrip()


def stored_text() -> str:
    """Return the file of examples, with what they print now."""
    rows = {
        each.code: {
            "commands": {"before": each.before, "after": each.after},
            "output": run_example(each),
        }
        for each in EXAMPLES
    }
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(stored_text(), encoding="utf-8")
