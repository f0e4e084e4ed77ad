"""Every command with --lang zh: no sentence of ours is in English, in help, tables and messages."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from atc_py.cli.main import main
from atc_py.text.language import speak
from tests.failures import Failures
from tests.shown_texts import commands

HEAD = '<ir_version: 8, opset_import: ["" : 14]>'
MODELS = {
    "m1": "(float[N, 3, 8, 8] x1) => (float[N, 4] y1) { w1 = Constant <value_floats = [1.0]> () "
    "c1 = Mul (x1, w1) r1 = Relu (c1) g1 = GlobalAveragePool (r1) y1 = Flatten (g1) }",
    "m2": "(float[1, 8] x1) => (float[1, 8] y1) { y1 = HardSwish (x1) }",
    "m3": "(float[1, 8] x1) => (float[1, 8] y1) { h1 = Exp (x1) y1 = Log (h1) }",
    "m4": "(float[4, 8] x1, float[8, 4] w1) => (float[4, 4] y1) { h1 = MatMul (x1, w1) "
    "y1 = Softmax (h1) }",
}
DIMS = ("--input-shape", "x1:1,3,8,8")
LINES: tuple[tuple[str, ...], ...] = (
    (),
    ("check", "m1.onnx"),
    ("check", "m2.onnx", "m3.onnx"),
    ("check", "."),
    ("check", "m2.onnx", "-o", "r.txt", "--format", "text"),
    ("check", "absent.onnx"),
    ("check", "m1.onnx", "--fail-on", "nothing"),
    ("convert", "m1.onnx"),
    ("convert", "m2.onnx"),
    ("convert", "m2.onnx", "--fix", "-v"),
    ("convert", "m1.onnx", *DIMS, "-v"),
    ("convert", "m3.onnx", "--why-not", "merge-elemwise", "--why-not", "fuse-softmax"),
    ("convert", "m1.onnx", "--input-shape", "x1:-1,3,8,8", "--batch-sizes", "1,4", "-o", "g.om"),
    ("convert", "m1.onnx", "--input-shape", "x1:-1,3,8,8", "--batch-sizes", "1;4"),
    ("convert", "m1.onnx", "--soc", "Ascend000"),
    ("convert", "m1.onnx", "--precision-mode", "fp99"),
    ("convert", "m1.onnx", "-v", "-q"),
    ("convert", "--passes"),
    ("info", "m1.onnx"),
    ("info", "m1.om"),
    ("info", "g.om"),
    ("info", "m1.om", "--precision"),
    ("info", "m1.om", "--layout"),
    ("info", "m1.om", "--layout", "--precision"),
    ("info", "m1.onnx", "--layout"),
    ("run", "m1.om"),
    ("run", "m1.om", "--random", "1", "--profile", "-o", "out"),
    ("run", "m1.om", "--random", "1", "--expect", "out/y1.npy"),
    ("run", "m1.om", "--random", "1", "--expect", "zeros.npy"),
    ("run", "g.om", "--random", "1"),
    ("run", "m1.om", "--input", "x.npy"),
    ("run", "m1.onnx", "--random", "1"),
    ("sweep", "m1.onnx"),
    ("compare", "m1.onnx", *DIMS),
    ("compare", "m3.onnx", "--input", "x1=x.npy", "--suggest", "keep.txt"),
    ("compare", "m3.onnx", "--input", "x1=x.npy", "--fail-under", "cosine=0.99"),
    ("compare", "m3.onnx", "-o", "compared.txt"),
    ("profile", "m1.om"),
    ("profile", "m4.onnx", "--soc", "Ascend310P3", "--soc", "Ascend910B3"),
    ("profile", "g.om"),
    ("profile",),
    ("kernels", "m1.om"),
    ("kernels", "m4.onnx", "--seed", "1", "--sanitize"),
    ("export", "m1.om"),
    ("fix", "m2.onnx"),
    ("fix", "m2.onnx", "--diff"),
    ("fix", "m3.onnx"),
    ("report", "m1.onnx", *DIMS),
    ("report", "m3.onnx", "--fail-under", "cosine=0.99"),
    ("plan", "m3.onnx", "--target", "cosine=0.99"),
    ("plan", "m3.onnx", "--target", "cosine=0.99", "-o", "plan.txt", "--write", "planned"),
    ("compare", "m3.onnx", "--samples", "3"),
    ("sweep", "m3.onnx", "m2.onnx", "-o", "swept", "--no-reports"),
    ("report", "m2.onnx"),
    ("quantize", "conv.onnx", "--data", "images.npy", "-o", "int8.onnx"),
    ("quantize", "conv.onnx", "--random", "2", "--target", "cosine=0.5", "-o", "int8b.onnx"),
    ("convert", "int8.onnx", "-v"),
    ("quantize", "int8.onnx", "--format", "qdq", "-o", "qdq.onnx"),
    ("quantize", "m3.onnx"),
    ("ops", "list"),
    ("ops", "lists"),
    ("ops", "show", "Conv"),
    ("ops", "show", "LayerNormalization"),
    ("ops", "show", "Convv"),
    ("ops", "diff", "Conv", "11", "13"),
    ("ops", "diff", "--list", "base", "--list", "cann-9.0", "Conv"),
    ("ops", "diff", "Conv"),
    ("ops", "validate"),
    ("explain",),
    ("explain", "ATC3004"),
    ("explain", "ATC0000"),
    ("socs",),
    ("config",),
    ("config", "convert"),
    ("config", "nothing"),
    ("completion", "tcsh"),
    ("exec",),
    ("atc", "--help"),
    ("nothing",),
    ("run", "m1.om", "--nothing"),
)

_WRAPPED = re.compile(r"`[^`\n]*\n *[^`\n]*`")
"""A command that goes on in the next line."""

_QUOTED = re.compile(r"atc-py [a-z]+(?: [a-z]+)*|`[^`\n]*`|'[^'\n]*'|\"[^\"\n]*\"")
_ENGLISH = re.compile(r"(?<![\w.:/\-_])[A-Za-z]?[a-z]+'?[a-z]*(?: [a-z]{2,}(?![\w./:_=-]))+")
"""Two words or more, one after the other; names of files, options and dtypes have none."""

_OTHERS = {
    "ATC start working now, please wait for a moment.",  # atc's own line, which scripts read
}


def english(text: str) -> list[str]:
    """Return the English phrases of a text."""
    text = _WRAPPED.sub("", text)
    lines = (line for line in text.splitlines() if line not in _OTHERS)
    return [found for line in lines for found in _ENGLISH.findall(_QUOTED.sub("", line))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder with small models and data, and leave the language as it was."""
    monkeypatch.chdir(tmp_path)
    for name, body in MODELS.items():
        onnx.save(onnx.parser.parse_model(f"{HEAD} {name} {body}"), f"{name}.onnx")
    text = f"{HEAD} conv (float[1, 3, 8, 8] x1) => (float[1, 4, 6, 6] y1) {{ y1 = Conv (x1, w1) }}"
    model = onnx.parser.parse_model(text)
    draw = np.random.default_rng(0)
    weights = draw.standard_normal((4, 3, 3, 3)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w1"))
    onnx.save(model, "conv.onnx")
    np.save("x.npy", np.full((1, 8), 12, np.float32))
    np.save("zeros.npy", np.zeros((1, 3), np.float32))
    np.save("images.npy", draw.standard_normal((4, 3, 8, 8)).astype(np.float32))
    yield tmp_path
    speak("en")


def printed(capsys: pytest.CaptureFixture[str], *line: str) -> str:
    """Return what a command line prints, on either stream."""
    with pytest.raises(SystemExit):
        main(line)
    return "".join(capsys.readouterr())


@pytest.mark.usefixtures("folder")
def test_no_command_prints_english(capsys: pytest.CaptureFixture[str]) -> None:
    with Failures() as failures:
        for line in LINES:
            with failures.of(*line):
                said = printed(capsys, "--lang", "zh", *line)
                assert said
                assert english(said) == []


@pytest.mark.usefixtures("folder")
def test_reports_in_files_are_chinese(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    printed(capsys, "check", "m2.onnx", "-o", "check.txt", "--lang", "zh")
    printed(capsys, "compare", "m3.onnx", "-o", "compare.txt", "--lang", "zh")
    printed(capsys, "profile", "m3.onnx", "-o", "profile.txt", "--lang", "zh")
    printed(capsys, "fix", "m2.onnx", "--report", "fix.txt", "--lang", "zh")
    for name in ("check.txt", "compare.txt", "profile.txt", "fix.txt"):
        text = (folder / name).read_text(encoding="utf-8")
        assert re.search(r"[\u4e00-\u9fff]", text), name
        assert english(text) == [], name


@pytest.mark.usefixtures("folder")
def test_pages_are_chinese(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """Pages open in the language of the command, with English in a template."""
    quantize = ("quantize", "conv.onnx", "--data", "images.npy", "-o", "int8.onnx")
    printed(capsys, "--lang", "zh", *quantize, "--report", "int8.html")
    plan = ("plan", "m3.onnx", "--target", "cosine=0.99", "--format", "html", "-o", "plan.html")
    printed(capsys, "--lang", "zh", *plan)
    for name in ("int8.html", "plan.html"):
        page = (folder / name).read_text(encoding="utf-8")
        assert '<html lang="zh-CN">' in page
        assert '<template id="other" data-lang="en"' in page
        body = re.sub(r"<(script|style|template)\b.*?</\1>", "", page, flags=re.DOTALL)
        shown = re.sub(r"<[^>]*>", "\n", body)
        assert re.search(r"[\u4e00-\u9fff]", shown)
        assert english(html.unescape(shown)) == [], name


def test_help_of_every_command_is_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        with Failures() as failures:
            for path, _ in commands():
                with failures.of(*path):
                    said = printed(capsys, "--lang", "zh", *path, "--help")
                    assert "用法：" in said
                    assert english(said) == []
    finally:
        speak("en")


def test_english_is_found() -> None:
    assert english("约 no layer fails") == ["no layer fails"]
    assert english("给出 `one of them` --keep-dtype keep.txt，float16 1,3 Relu -> Cast") == []
