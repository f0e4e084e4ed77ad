"""Examples that docs' pages open with: they run on the models of the README, and print what is shown.

`python -m tests.page_examples --write` writes what they print now, also into the Chinese pages and the texts of
derived ones. A line `...` of a page stands for any number of lines; lines that are shown are replaced by those of
the output that are most alike.
"""

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

from tests.example_shell import ran, working_in
from tests.package.ge.om_files import small_model
from tests.test_readme import BLOCK, README, ROOT, commands

DOCS = ROOT / "docs"
PAGES = (
    "aipp",
    "board",
    "cli",
    "comparing",
    "cost-model",
    "deviations",
    "exec",
    "export",
    "from-atc",
    "fusion",
    "gears",
    "inference-session",
    "int8",
    "ir",
    "kernels",
    "layout",
    "measured",
    "memory",
    "om-json",
    "operator-lists",
    "operators",
    "planning",
    "precision",
    "quantization",
    "real-om",
    "report",
    "rewrites",
    "special-values",
    "sweeping",
    "target",
    "your-case",
)
"""Pages whose console blocks before the first heading are examples."""


def make_models(folder: Path) -> None:
    """Write the models and arrays of the README: first, refused and loud, x.npy and images.npy; and net.om, as of atc."""
    with working_in(folder, "en"):
        for block in BLOCK.finditer(README.read_text(encoding="utf-8")):
            if block["kind"] == "python" and "onnx.save" in block["text"]:
                exec(compile(block["text"], str(README), "exec"), {})  # noqa: S102  (our own page)
    (folder / "net.om").write_bytes(small_model())


def examples(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the commands of a page's opening with what it shows of their output."""
    opening, _, _ = page.read_text(encoding="utf-8").partition("\n## ")
    for block in BLOCK.finditer(opening):
        if block["kind"] == "console":
            yield from commands(block["text"])


def renewed(shown: str, output: str) -> str:
    """Return an output in the form of the one shown: as many lines, between the same gaps."""
    shown_parts = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
    parts = [part.splitlines(keepends=True) for part in shown_parts]
    lines = output.splitlines(keepends=True)
    renewed_parts = []
    at = 0
    for index, part in enumerate(parts):
        ends = range(at, len(lines) - len(part) + 1)
        if index == 0:
            ends = range(1)
        elif index == len(parts) - 1:
            ends = range(len(lines) - len(part), len(lines) - len(part) + 1)
        best = max(ends, key=lambda start: _likeness(part, lines[start : start + len(part)]))
        at = best + len(part)
        renewed_parts.append("".join(lines[best:at]))
    return "...\n".join(renewed_parts)


def _likeness(shown: list[str], lines: list[str]) -> float:
    return sum(SequenceMatcher(None, *pair).ratio() for pair in zip(shown, lines, strict=False))


def write(name: str, folder: Path) -> None:
    """Run a page's examples and write what they print into its English and Chinese text."""
    changes = []
    with working_in(folder, "en"):
        os.environ.pop("COLUMNS")
        for line, shown in examples(DOCS / f"{name}.md"):
            _, output = ran(line)
            changes.append((f"$ {line}\n{shown}", f"$ {line}\n{renewed(shown, output)}"))
    generators = (ROOT / "tests").glob("derived_*.py")
    for path in (DOCS / f"{name}.md", *DOCS.glob(f"zh/{name}.md"), *generators):
        text = path.read_text(encoding="utf-8")
        for before, after in changes:
            text = text.replace(before, after, 1)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for each in PAGES if "--write" in sys.argv else ():
        with tempfile.TemporaryDirectory() as place:
            make_models(Path(place))
            write(each, Path(place))
