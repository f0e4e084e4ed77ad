"""The page on int8: its example runs and prints what it shows, its reasons are all."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from atc_py.cli.main import main
from atc_py.onnx_graph.rewriting.qdq import parameters
from atc_py.text import Text
from tests.test_readme import commands

PAGE = Path(__file__).resolve().parent.parent / "docs" / "int8.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCK = re.compile(
    r"^```(?P<kind>python|console|text)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def test_example_runs_and_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    printed, kinds = "", []
    for block in BLOCK.finditer(TEXT, TEXT.index("\n## An example\n")):
        kinds.append(block["kind"])
        if block["kind"] == "text":
            assert block["text"] == printed
        elif block["kind"] == "python":
            capsys.readouterr()
            exec(compile(block["text"], str(PAGE), "exec"), names)  # noqa: S102  (our own page)
            printed = capsys.readouterr().out
        else:
            run_commands(block["text"], capsys)
    assert kinds.count("text") == 3
    assert kinds.count("python") == 4


def run_commands(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the commands of a block; what they print must be what it shows."""
    for line, shown in commands(text):
        program, *arguments = shlex.split(line)
        assert program == "atc-py"
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        printed = capsys.readouterr()
        assert exit_.value.code == 0, (line, printed.err)
        assert not shown or printed.out.rstrip("\n") == shown.rstrip("\n")


def all_reasons() -> Mapping[str, Text]:
    """Return the reasons that are not made of parts, by name."""
    return {name: text for name, text in vars(parameters.Reason).items() if isinstance(text, Text)}


@pytest.mark.parametrize("name", sorted(all_reasons()))
def test_every_reason_is_on_the_page(name: str) -> None:
    if name != "BOTH_CONSTANT":  # never reported: such nodes are constants in the end
        assert f"- {all_reasons()[name].en}\n" in TEXT


def test_reasons_made_of_parts_are_on_the_page() -> None:
    found = [
        parameters.other_kind("int16").en.partition(",")[0],
        parameters.other_scale("no positive number of float32 or float16").reason.en.partition(",")[
            0
        ],
        parameters.other_parameters("").reason.en.removesuffix(": "),
        parameters.channels_elsewhere(1, 0).en,
    ]
    assert all(f"- {text}" in TEXT for text in found)


def test_the_example_is_one_that_can_fail(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError):
        run_commands("$ atc-py explain ATC3012\nanother text\n", capsys)
