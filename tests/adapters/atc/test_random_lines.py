"""Random lines of atc's options: each ends in a verdict with a code, and none in a bug."""

import random
from pathlib import Path

import pytest

from atc_py.adapters.atc.console import Console
from atc_py.adapters.atc.options import OPTIONS
from atc_py.adapters.atc.run import run_atc
from atc_py.diag import Diagnostic
from tests.adapters.atc.conftest import TEXTS

VALUES = (
    "", "0", "1", "2", "-1", "true", "x:1,3,224,224", "x:-1,3,224,224", "x:1,3,-1,-1", "x:[1,3]",
    "x:1~8,3,224,224", "1,2", "224,224;64,64", "1,224,224;2,64,64", "Conv_0:0", "y", "x;y",
    "Conv_0:0:FP16", "FP16", "m.onnx", "none", "/", "..", "a/", "é", "*", "a b", "\x00", "\udcff",
    "a" * 5000, ":", ";", "a:b:c", "[", "]", "NCHW", "high_precision", "Ascend910B1", "Relu",
    "A:off;B:on", "5", "3", "6", *TEXTS,
)  # fmt: skip


def random_line(rng: random.Random) -> list[str]:
    """Return a line of a few options with values that may be theirs."""
    words = []
    if rng.random() < 0.9:
        model = rng.choice(["m.onnx", "d.onnx", "two.onnx"])
        words = [f"--model={model}", "--framework=5", "--output=o", "--soc_version=Ascend310P3"]
    for option in rng.sample(list(OPTIONS.values()), rng.randint(1, 3)):
        pool = option.values if option.values and rng.random() < 0.7 else VALUES
        words.append(f"--{option.name}={rng.choice(pool)}")
    return words if rng.random() < 0.95 else [*words, rng.choice(VALUES)]


@pytest.mark.parametrize("seed", range(8))
def test_random_lines_end_in_a_verdict(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    rng = random.Random(seed)  # noqa: S311  (no secret)
    for _ in range(20):
        words = random_line(rng)
        lines: list[str] = []
        found: list[Diagnostic] = []
        status = run_atc(words, Console(lines.append, lines.append, found.extend))
        usage = any(word in {"--help=true", "--h=true"} for word in words)
        assert status in {0, 255}
        assert usage or any(line.startswith("ATC run") for line in lines), words
        assert bool(status) <= bool(found), words
        for name, data in files.items():
            assert (tmp_path / name).read_bytes() == data, words
