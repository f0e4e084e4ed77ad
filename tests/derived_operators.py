"""The pages of docs/ that are derived from the operator specifications alone."""

from collections.abc import Iterator
from itertools import groupby

from atc_py.lowering.lower import can_lower
from atc_py.report.operators.listing import compiles_words, first_dtypes
from atc_py.report.operators.rules import attribute_words, operand_words, rule_words
from atc_py.spec import OpSpec, library
from atc_py.text import Text

_OPENING = """\
```console
$ atc-py ops show Softmax
Softmax (math)
  Exponentials divided by their sum

Opsets: 8-13
...
Inputs
  input  float16 float32 float64
...
Rules
...
  -  axis of Softmax must be in [-r, r - 1], r being the rank of input; else error
     [op_specs/base/math/softmax.yaml:13]
...
```
"""


def operators_page() -> Iterator[str]:
    """Yield the operator specifications: a table of all, and a section for each."""
    specs = library().all()
    yield "# Operators"
    yield ""
    yield from _OPENING.splitlines()
    yield ""
    yield f"The {len(specs)} operators of the list, which of them compile so far, and the rules of"
    yield "each. `atc-py ops show OPERATOR` prints the same with ONNX's versions of it;"
    yield "[how the list is read](spec-notes.md) gives reasons."
    yield ""
    yield "| operator | group | opsets | compiles | first input | rules | summary |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    yield from (_row(spec) for spec in specs)
    for spec in specs:
        yield from _section(spec)


def spec_notes_page() -> Iterator[str]:
    """Return the page on how silent, odd or contradictory lines of the list are read."""
    yield "# How the operator list is read"
    yield ""
    yield "The list is silent, odd or contradicts itself or ONNX in places. What the specifications"
    yield "make of it is explained in the `notes` of each file; this page collects them."
    specs = sorted(library().all(), key=lambda spec: (spec.group, spec.op.lower()))
    for group, members in groupby(specs, key=lambda spec: spec.group):
        yield ""
        yield f"## {group}"
        for spec in members:
            yield from _notes(spec)


def _notes(spec: OpSpec) -> Iterator[str]:
    """Yield the notes of one file."""
    if spec.notes is None:
        return
    yield ""
    yield f"### {spec.op}"
    yield ""
    yield f"[`{spec.file_name}`](../{spec.file_name})"
    for text in (spec.notes.en, spec.notes.zh):
        if text:
            yield ""
            yield _escaped(text)


def _row(spec: OpSpec) -> str:
    """Return one line of the table."""
    dtypes = first_dtypes(spec) if spec.inputs else []
    cells = (
        f"[{spec.op}](#{spec.op.lower()})",
        spec.group,
        spec.opset_text,
        compiles_words(spec, compiles=can_lower(spec.op, "")).en,
        "any" if dtypes is None else ", ".join(dtypes) or "none",
        str(len(spec.constraints)),
        _escaped(spec.summary.en),
    )
    return f"| {' | '.join(cells)} |"


def _section(spec: OpSpec) -> Iterator[str]:
    """Yield everything that the list says of one operator."""
    yield ""
    yield f"## {spec.op}"
    yield ""
    yield f"{_escaped(spec.summary.en)}. {_escaped(spec.summary.zh)}。"
    yield ""
    named = f", listed as {spec.listed_as}" if spec.listed_as else ""
    opsets = "custom operator" if spec.custom else f"opsets {spec.opset_text}"
    yield f"{opsets}{named}; [`{spec.file_name}`](../{spec.file_name})"
    yield from _list("Inputs", [(row.name, operand_words(spec, row)) for row in spec.inputs])
    yield from _list("Outputs", [(row.name, operand_words(spec, row)) for row in spec.outputs])
    yield from _list("Attributes", [(row.name, attribute_words(row)) for row in spec.attributes])
    yield from _list("Constraints", [("", rule_words(spec, rule)) for rule in spec.constraints])


def _list(title: str, rows: list[tuple[str, Text]]) -> Iterator[str]:
    """Yield a titled list; nothing where it is empty."""
    if not rows:
        return
    yield ""
    yield f"{title}:"
    yield ""
    for name, words in rows:
        yield f"- `{name}`: {_escaped(words.en)}" if name else f"- {_escaped(words.en)}"


def _escaped(text: str) -> str:
    """Return `text` in which Markdown finds no marks of its own."""
    for mark in "\\|*<":
        text = text.replace(mark, f"\\{mark}")
    return text
