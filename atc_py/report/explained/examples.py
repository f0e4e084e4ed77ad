"""The examples that `explain` shows: a file of YAML for each code in the folder `examples`.

An author writes:

- `note`: a sentence in each language (`en`, `zh`), where the rest does not say how it comes about.
- `files`: contents by name: a model in onnx's text form, an array as numpy's expression, or text.
- `first`: commands that prepare both sides, one a line; their output is not shown.
- `before`: the command that ends with the code. Of several lines, the output of the last is shown.
- `fixed`: files that are written before the other side: the fix, where it is in a file.
- `after`: the command that ends without the code.
- `fault`: a fault that the tests inject for both sides, where no input causes it.

`prints` is what the two commands print in each language; `make docs` writes it.
"""

import functools
from pathlib import Path

import msgspec
import yaml

FOLDER = Path(__file__).with_name("examples")
SIDES = ("before", "after")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class CodeExample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command that ends with a code, and one that does not.

    Attributes:
        before: the lines whose last one ends with the code.
        after: the lines whose last one ends without it.
        files: contents of the files that are there before either, by name.
        fixed: contents of the files that are written before `after`, by name.
        first: lines that prepare both sides.
        note: in each language, how the example comes about.
        fault: the name of a fault that is injected for both sides.
        prints: what the last line of each side prints, by side and language.
    """

    before: str
    after: str
    files: dict[str, str] = {}
    fixed: dict[str, str] = {}
    first: str = ""
    note: dict[str, str] = {}
    fault: str | None = None
    prints: dict[str, dict[str, str]] = {}

    def lines(self, side: str) -> list[str]:
        """The command lines of a side."""
        return (self.before if side == "before" else self.after).strip().splitlines()


@functools.cache
def example_of(code: str) -> CodeExample | None:
    """The example of a code, or None."""
    path = FOLDER / f"{code}.yaml"
    if not path.is_file():
        return None
    found = yaml.load(path.read_text(encoding="utf-8"), _LOADER)  # noqa: S506  (a safe loader)
    return msgspec.convert(found, CodeExample)


def examples() -> dict[str, CodeExample]:
    """All examples by code."""
    found = {path.stem: example_of(path.stem) for path in sorted(FOLDER.glob("*.yaml"))}
    return {code: each for code, each in found.items() if each is not None}
