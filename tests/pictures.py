"""The pictures of terminals in docs/pictures, made by rich's recorder; `make docs` writes them.

A picture says in a comment what was printed, so that a test sees when it is not current; how rich
draws it differs between its versions.
"""

import hashlib
import html
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from atc_py.report.explained.page import examples
from tests.example_shell import ROOT
from tests.explained_examples import write_files

PICTURES = {
    "terminal.svg": (
        "atc-py check refused.onnx | head -7",
        "atc-py convert refused.onnx --fix",
        "atc-py compare hidden.onnx --input x=twelve.npy | head -7",
    ),
    "chinese.svg": (
        "atc-py convert net.onnx --lang zh",
        "atc-py explain ATC3004 --lang zh | head -6",
    ),
}
_MODELS_OF = ("ATC3001", "ATC3004", "ATC7004")
"""Examples of `explain` whose files the commands read."""

FOLDER = ROOT / "docs" / "pictures"
_WIDTH = 120

_LETTER = 12.2
"""Width of a letter as rich draws it."""

_TEXT = re.compile(
    r'(?P<start><text [^>]*)textLength="[\d.]+"(?P<rest>[^>]*)>(?P<text>[^<]*)</text>'
)


def printed(lines: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return each command line with what it prints, in a folder with models."""
    program = f'atc-py() {{ "{sys.executable}" -m atc_py "$@"; }}; '
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for code in _MODELS_OF:
            write_files(Path(folder), examples()[code].files)
        for line in lines:
            done = subprocess.run(
                ["/bin/bash", "-c", program + line],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), "ATC_PY_LANG": "en"},
            )
            found.append((line, done.stdout))
    return found


def digest(found: list[tuple[str, str]]) -> str:
    """Return a digest of commands and what they print."""
    return hashlib.sha256(repr(found).encode()).hexdigest()


def is_current(name: str) -> bool:
    """Return True if a picture shows what its commands print now."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    return f"<!-- printed: {digest(printed(PICTURES[name]))} -->" in text


def widened(svg: str) -> str:
    """Return a picture whose texts are as wide as their columns: rich counts letters alone."""

    def with_length(found: re.Match[str]) -> str:
        text = html.unescape(found["text"])
        length = f"{_LETTER * cell_len(text):g}"
        return f'{found["start"]}textLength="{length}"{found["rest"]}>{found["text"]}</text>'

    return _TEXT.sub(with_length, svg)


def drawn(name: str) -> str:
    """Return a picture as SVG."""
    found = printed(PICTURES[name])
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True)
    for line, output in found:
        console.print(Text(f"$ {line}", style="bold green"))
        for row in output.splitlines():
            style = "red" if row.startswith(("error", "错误")) else ""
            console.print(Text(row, style=style), soft_wrap=False)
    svg = widened(console.export_svg(title="atc-py", unique_id=name.partition(".")[0]))
    return f"{svg.rstrip()}\n<!-- printed: {digest(found)} -->\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in PICTURES:
        (FOLDER / each).write_text(drawn(each), encoding="utf-8")
