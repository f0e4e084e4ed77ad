"""The examples of `atc-py explain`, run in both languages; `make docs` writes their output again.

Each runs in a folder of its own. Its file is as its author wrote it, down to `prints`.
"""

import re
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import yaml

from atc_py.report.explained.page import FOLDER, SIDES, CodeExample, example_of, examples
from atc_py.text import LANGUAGES
from tests.example_faults import FAULTS
from tests.example_shell import printed, working_in

_PRINTS = "prints:"
_OWN_TIME = re.compile(
    r"after \d+(\.\d+)? (µs|ms|s)\b|耗时 \d+(\.\d+)? (µs|ms|s)\b|^  seconds +\d+\.\d$", re.MULTILINE
)
"""What a run prints of its own time."""

_SIDES = re.compile(
    r"\b(original|device sim|all) \d+(\.\d+)? (µs|ms|s)\b|(原模型|设备 sim|合计) \d+(\.\d+)? (µs|ms|s)\b"
)
"""Times of both sides of `compare`."""

_PACE = re.compile(r"^\d+ of \d+ rows, .*\n|^\d+(\.\d+)? m?s\n", re.MULTILINE)
"""Lines of `sweep` on its own time."""

_TIME_OF_PROGRAM = re.compile(r" \d+(\.\d+)? (µs|ms|s)\b")
"""A time in the table of `exec`, which is wider than each."""

_ENGINES = re.compile(r"(of the original: |原模型的节点 [^：]*：).*")
"""Words of other packages, which differ between their versions."""

_LOG = re.compile(r"/\S*/atc-py-\w+\.log")


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write files by name: models from onnx's text form, arrays from numpy's, others as they are."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".onnx":
            onnx.save(onnx.parser.parse_model(content), path)
        elif path.suffix == ".npy":
            np.save(path, _value(content))
        elif path.suffix == ".npz":
            np.savez(path, **_value(content))
        else:
            path.write_text(content, encoding="utf-8")


def _value(text: str) -> Any:
    """Return what an expression of numpy's gives."""
    return eval(text, {"np": np})  # noqa: S307  (the examples are ours)


def run_example(example: CodeExample) -> dict[str, dict[str, str]]:
    """Return what its two commands print, by side and language."""
    found: dict[str, dict[str, str]] = {side: {} for side in SIDES}
    for language in LANGUAGES:
        with tempfile.TemporaryDirectory() as name, working_in(Path(name), language):
            write_files(Path(name), example.files)
            for line in example.first.splitlines():
                printed(line)
            with FAULTS[example.fault]() if example.fault else nullcontext():
                for side in SIDES:
                    if side == "after":
                        write_files(Path(name), example.fixed)
                    found[side][language] = _last_output(example, side, name)
    return found


def _last_output(example: CodeExample, side: str, folder: str) -> str:
    """Return what the last line of a side prints, without what differs from run to run."""
    *before, last = example.lines(side)
    for line in before:
        printed(line)
    text = _OWN_TIME.sub(lambda found: re.sub(r"\d+(\.\d+)?", "1.0", found[0]), printed(last))
    text = _SIDES.sub(lambda found: f"{found[1] or found[4]} 1.0 ms", text)
    text = _PACE.sub("", text)
    text = _ENGINES.sub(r"\1...", text)
    if last.startswith("atc-py exec"):
        text = _TIME_OF_PROGRAM.sub(lambda found: "1.0 ms".rjust(len(found[0])), text)
    for own in (Path(folder).resolve(), Path(sys.executable).parent):
        text = text.replace(f"{own}/", "")
    text = _LOG.sub(_removed_log, text).rstrip()
    return "\n".join(line.rstrip() for line in text.splitlines())


def _removed_log(found: re.Match[str]) -> str:
    """Delete the log of an internal error, and return a name that is the same in every run."""
    Path(found[0]).unlink()
    return "/tmp/atc-py-12345678.log"  # noqa: S108  (what the page shows)


def stored_text(code: str) -> str:
    """Return the file of a code's example, with what it prints now."""
    text = (FOLDER / f"{code}.yaml").read_text(encoding="utf-8")
    example = example_of(code)
    assert example is not None
    authored = text.partition(f"\n{_PRINTS}")[0].rstrip()
    found = yaml.dump(
        {"prints": run_example(example)},
        Dumper=_Blocks,
        allow_unicode=True,
        sort_keys=False,
        width=10**6,
    )
    return f"{authored}\n{found}"


class _Blocks(yaml.SafeDumper):
    """A writer of YAML that shows texts of several lines line by line."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Blocks.add_representer(str, _represent_text)


if __name__ == "__main__":
    for each in sys.argv[1:] or sorted(examples()):
        (FOLDER / f"{each}.yaml").write_text(stored_text(each), encoding="utf-8")
