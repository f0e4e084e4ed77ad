"""Names that would command a terminal, leave a comment or run a script come out as escapes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import onnx
import pytest
from onnx import TensorProto, helper

from atc_py.report import tables
from tests.cli.conftest import Result

Atc = Callable[..., Result]

EVIL = (
    "\x1b[31mred\x1b]0;title\x07\x9b2J\u202eexe.txt\u2066\r\nnext\0\t*/ #error\\\n#error ??/\n"
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&;`$(id)%s{0}{{7*7}}"
)
"""Escape sequences of seven and eight bits, marks of direction, line ends, ends of comments, HTML,
quotes of shells, and what templates and formats would take up."""

RAW = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]"
)
"""What no report may hold; line ends and tabs are the reports' own."""


def named(part: str) -> str:
    """Return a name of its own for each part of the model."""
    return f"{part}{EVIL}{part}"


@pytest.fixture
def model(tmp_path: Path) -> str:
    """Return a model in which everything has such a name; one operator of it is not on the list."""
    return _saved(tmp_path / "m.onnx", "Relu")


@pytest.fixture
def bad(tmp_path: Path) -> str:
    """Return the same with an operator that is not on the list."""
    return _saved(tmp_path / "bad.onnx", "Mish")


def _saved(path: Path, operator: str) -> str:
    domain = "" if operator == "Relu" else named("domain")
    nodes = [
        helper.make_node("Sigmoid", [named("x")], [named("t")], name=named("first")),
        helper.make_node(operator, [named("t")], [named("u")], name=named("second"), domain=domain),
        helper.make_node("LRN", [named("u")], [named("y")], name=named("third"), size=3),
    ]
    graph = helper.make_graph(
        nodes,
        named("graph"),
        [helper.make_tensor_value_info(named("x"), TensorProto.FLOAT, [1, 4, 4, 4])],
        [helper.make_tensor_value_info(named("y"), TensorProto.FLOAT, [1, 4, 4, 4])],
    )
    opsets = [helper.make_opsetid("", 13)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name=EVIL)
    onnx.save(made, path)
    return str(path)


COMMANDS = [
    ("check", "@bad"),
    ("check", "@bad", "--lang", "zh"),
    ("check", "@bad", "--format", "json"),
    ("check", "@bad", "--format", "html"),
    ("check", "@bad", "--format", "sarif"),
    ("check", "@bad", "--format", "junit"),
    ("check", "@bad", "--format", "csv"),
    ("convert", "@bad"),
    ("convert", "@m"),
    ("convert", "-v", "@m"),
    ("convert", "@m", "--json"),
    ("info", "@om"),
    ("info", "@om", "--json"),
    ("info", "--precision", "@om"),
    ("info", "--precision", "@om", "--json"),
    ("run", "@om", "--random", "0"),
    ("run", "@om", "--random", "0", "--json", "--profile"),
    ("run", "@om"),
    ("profile", "@om"),
    ("profile", "@om", "--format", "json"),
    ("profile", "@om", "--format", "csv"),
    ("profile", "@om", "--format", "html"),
    ("kernels", "@om"),
    ("kernels", "@om", "--format", "json"),
    ("compare", "@m"),
    ("compare", "@m", "--format", "json"),
    ("compare", "@m", "--format", "csv"),
    ("compare", "@m", "--format", "html"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_names_come_out_as_escapes(
    atc: Atc, model: str, bad: str, command: tuple[str, ...]
) -> None:
    places = {"@m": model, "@bad": bad, "@om": "m.om"}
    if "@om" in command:
        assert atc("convert", model).status == 0
    done = atc(*(places.get(part, part) for part in command))
    assert done.status in {0, 1, 2}
    shown = done.out + done.err
    assert not RAW.search(shown), RAW.findall(shown)
    assert "<script>alert" not in done.out or "html" not in command
    assert "<img src" not in done.out or "html" not in command
    if "json" in command or "--json" in command or "sarif" in command:
        json.loads(done.out)
    if "junit" in command:
        ET.fromstring(done.out)  # noqa: S314  (our own report)


def test_rich_tables_show_names_as_escapes(
    atc: Atc, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    atc("convert", model)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    shown = atc("info", "m.om").out
    assert "──" in shown
    assert not RAW.search(shown)


def test_rich_markup_in_names_is_text() -> None:
    table = tables.Table("[bold]title[/bold]", ("a",), (("[red]x[/red][/]",),))
    assert "[red]x[/red][/]" in "\n".join(tables.plain_lines(table))


def test_kernels_hold_no_name_that_leaves_a_comment(atc: Atc, model: str, tmp_path: Path) -> None:
    assert atc("convert", model, "--kernels", "k").status == 0
    files = [path for path in (tmp_path / "k").rglob("*") if path.is_file()]
    assert files
    for path in files:
        relative = path.relative_to(tmp_path / "k").as_posix()
        assert re.fullmatch(r"[A-Za-z0-9_./-]+", relative)
        if relative.startswith("host/"):
            continue
        text = path.read_text(encoding="utf-8")
        assert not RAW.search(text), relative
        if path.suffix in {".cpp", ".h"}:
            assert "#error" not in re.sub(r"//[^\n]*", "", text)
            assert not re.search(r"//[^\n]*(\\|\?\?/)\n", text)


def test_outputs_of_a_run_stay_in_their_folder(atc: Atc, model: str, tmp_path: Path) -> None:
    atc("convert", model)
    assert atc("run", "m.om", "--random", "0", "--output", "out").status == 0
    (file,) = (tmp_path / "out").iterdir()
    assert re.fullmatch(r"[A-Za-z0-9_.-]+", file.name)


def test_trace_holds_names_as_escapes(atc: Atc, model: str, tmp_path: Path) -> None:
    assert atc("profile", model, "--trace", "t.json").status == 0
    text = (tmp_path / "t.json").read_text(encoding="utf-8")
    assert not RAW.search(text)
    json.loads(text)


def test_dumped_graphs_hold_names_as_escapes(atc: Atc, model: str, tmp_path: Path) -> None:
    assert atc("convert", model, "--dump-ir", "ir").status == 0
    for path in (tmp_path / "ir").iterdir():
        assert re.fullmatch(r"[A-Za-z0-9_.-]+", path.name)
        assert not RAW.search(path.read_text(encoding="utf-8")), path.name
