"""Command lines that README.md and docs/ show: their commands and options exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from atc_py.cli.main import cli

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(?:sh|console|bash|text|yaml)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^\s*(?:\$ |- run: |entry: )?(atc-py (?:.*\\\n)*.*)$", re.MULTILINE)
_UNPARSED = {"atc", "exec"}
"""Commands whose lines are those of other programs."""


def lines() -> Iterator[tuple[str, list[str]]]:
    """Yield the pages with the words of each line that calls atc-py."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in LINE.findall(block):
                whole = re.split(r" (?:\||>|&&|\|\|) ", line.replace("\\\n", " "))[0]
                try:
                    yield page.name, shlex.split(whole, comments=True)[1:]
                except ValueError:  # an open quote: prose
                    continue


def faults(words: list[str]) -> list[str]:
    """Return what a line names that does not exist."""
    command: click.Command = cli
    rest = list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(click.Context(command), rest[0])
        if found is None:
            return [rest[0]] if rest[0].islower() and rest[0].isalpha() else []
        command, rest = found, rest[1:]
        if command.name in _UNPARSED:
            return []
    known = {"--help", "-h"}
    known |= {each for param in command.params for each in (*param.opts, *param.secondary_opts)}
    named = [word.partition("=")[0] for word in rest if re.match(r"--?[A-Za-z]", word)]
    return [name for name in named if name not in known]


def test_documented_lines_exist() -> None:
    found = [(page, words) for page, words in lines()]
    assert len(found) > 100
    wrong = [(page, " ".join(words), faults(words)) for page, words in found]
    # Pages of codes show lines that are refused.
    assert [each for each in wrong if each[2] and each[0] != "diagnostics.md"] == []


def test_unknown_option_is_found() -> None:
    assert faults(["convert", "x.onnx", "--nope", "-o", "y"]) == ["--nope"]
    assert faults(["convret", "x.onnx"]) == ["convret"]
    assert faults(["ops", "show", "Conv", "--list", "base"]) == []
