"""What a newcomer meets: misspelled names, -q and -v everywhere, and terminals that are narrow."""

import io
from collections.abc import Callable
from pathlib import Path

import onnx.parser
import pytest
from rich.console import Console

from atc_py.cli import drawn_tables
from atc_py.cli.drawn_tables import draw_table
from atc_py.cli.main import _QUIETED
from atc_py.report.tables import Table
from atc_py.report.wrapping import columns
from tests.cli.conftest import Result
from tests.failures import in_one_item

WIDE = Table(
    "Kernels",
    ("#>", "kernel", "computes", "time>", "range>", "bound by"),
    (
        ("2", "Conv2D+Relu", "Conv2D:features", "3.2 µs", "0.5 µs..11.4 µs", "launch, then memory"),
        ("0", "转换", "Cast:image.float16", "3.1 µs", "0.5 µs..10.3 µs", ""),
    ),
)


def drawn(table: Table, width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the lines of a table on a terminal of that many columns."""
    stream = io.StringIO()
    monkeypatch.setattr(
        drawn_tables, "Console", lambda **_: Console(file=stream, width=width, force_terminal=False)
    )
    draw_table(table, err=False, narrow=False)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


@in_one_item(
    ("args", "expected"),
    [
        (("convret", "x.onnx"), "did you mean convert?"),
        (("ops", "sho", "Conv"), "did you mean show?"),
        (("check", "smal.onnx"), "did you mean smal.onnx?"),
        (("explain", "free-dim"), "did you mean free-dimension?"),
        (("convert", "small.onnx", "--soc", "Ascend310P4"), "did you mean Ascend310P"),
        (("completion",), "Missing argument 'SHELL'. Choose from: bash, zsh, fish"),
        (("run", "small.om", "--random", "x"), "'x' is not a valid integer."),
        (("run", "small.om", "--random"), "`atc-py run --help` shows the options"),
    ],
)
@pytest.mark.usefixtures("model")
def test_misspelled_name_gets_the_nearest(
    atc: Callable[..., Result], args: tuple[str, ...], expected: str
) -> None:
    done = atc(*args)
    assert done.status in {2, 3}
    expected = expected.replace("smal.onnx", "small.onnx")
    assert expected in done.out + done.err


def test_unlike_name_gets_none(atc: Callable[..., Result]) -> None:
    assert "did you mean" not in atc("frobnicate").err
    assert "did you mean" not in atc("info", "quite-another.onnx").err


def test_quiet_commands_print_nothing(
    atc: Callable[..., Result], model: Path, om: Path, tmp_path: Path
) -> None:
    lines = {
        "check": (model,),
        "compare": (model,),
        "diff": (om, om),
        "export": (om,),
        "fix": (model, "-o", "fixed.onnx"),
        "info": (om,),
        "kernels": (om,),
        "plan": ("x.onnx", "--target", "cosine=0.9"),
        "profile": (om,),
        "quantize": (model, "--random", "1", "-o", "int8.onnx"),
        "report": (model, "--no-compare", "-o", "page.html"),
        "run": (om, "--random", "1"),
        "sweep": (model, "--no-reports", "-o", "swept"),
    }
    small = '<ir_version: 8, opset_import: ["" : 13]> g (float[1, 8] x) => (float[1, 8] y) { y = Exp (x) }'
    onnx.save(onnx.parser.parse_model(small), "x.onnx")
    assert {*lines} == _QUIETED - {"aipp"}
    for name, args in lines.items():
        done = atc(name, *args, "-q")
        assert (name, done.status, done.out) == (name, 0, "")
    assert (tmp_path / "page.html").exists()
    assert atc("info", om, "-q", "--json").json["name"] == "small"
    assert "file-not-found" in atc("run", "absent.om", "-q").err


def test_verbose_lists_every_layer_and_kernel(atc: Callable[..., Result]) -> None:
    steps = " ".join(f"v{i + 1} = Softmax (v{i})" for i in range(30))
    text = f'<ir_version: 8, opset_import: ["" : 13]> g (float[1, 8] v0) => (float[1, 8] v30) {{ {steps} }}'
    onnx.save(onnx.parser.parse_model(text), "long.onnx")
    assert "Worst 10 of" in atc("compare", "long.onnx").out
    assert "Worst 10 of" not in atc("compare", "long.onnx", "-v").out
    assert "more: -v lists all" in atc("profile", "long.onnx").out
    whole = atc("profile", "long.onnx", "-v").out
    assert "more: -v" not in whole
    assert whole.count("SoftmaxV2") > 30


@pytest.mark.parametrize("width", [40, 60, 80])
def test_wide_table_keeps_its_words_whole(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = drawn(WIDE, width, monkeypatch)
    assert lines[0] == "Kernels"
    assert max(map(columns, lines)) <= width
    text = " ".join(" ".join(lines).split())
    for row in WIDE.rows:
        for cell in row:
            assert cell in text
    assert (width > 60) == ("─" in text)
    assert (width <= 60) == ("bound by launch, then memory" in text)


def test_table_that_fits_is_drawn_with_its_headings(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = drawn(WIDE, 120, monkeypatch)
    (head,) = (line for line in lines if "computes" in line)
    assert head.split()[-2:] == ["bound", "by"]
    assert any("─" in line for line in lines)
