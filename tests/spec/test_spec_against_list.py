"""The specifications against the operator list, read a second time and in another way."""

import re
from functools import cache
from pathlib import Path

import pytest

from atc_py.spec import OpSpec, library
from tests.failures import Failures, in_one_item

LIST = Path(__file__).resolve().parents[2] / ".." / "shared/reference/onnx_operator_spec_list.zh.md"
pytestmark = pytest.mark.skipif(not LIST.is_file(), reason="the operator list is not here")

SPECS = [pytest.param(spec, id=spec.op) for spec in library().all()]
DTYPE = re.compile(
    r"b?float(?:16|32|64)?|fp(?:16|32)|double|q?u?int(?:8|16|32|64)|bool(?![\u4e00-\u9fff])"
)
NAMED = re.compile("([A-Za-z_][A-Za-z0-9_]*) ?[\uff1a:]")
OTHER_NAMES = {"double": "float64", "float": "float32", "fp16": "float16", "fp32": "float32"}
OPEN = "等"
"""An `and so on` after a list of dtypes: the specification may have more."""
STATED = re.compile("支持(?:如下|的)数据类型|数据类型仅支持")
"""Begins a list of the inputs' dtypes in a constraint line."""

SILENT = {"Conv", "If"}
"""Operators whose dtypes the list leaves out; their notes say how that is read."""


@cache
def _sections() -> dict[str, list[str]]:
    """Return lines of each operator's section, without escapes and blank lines."""
    sections: dict[str, list[str]] = {}
    name = ""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            name = line[3:].split("<")[0].strip()
            sections[name] = []
        elif line.strip() and name:
            sections[name].append(line.replace("\\", "").strip())
    return sections


def _part(lines: list[str], title: str) -> list[str]:
    """Return the lines under 【title】, up to the next title."""
    titles = (i for i, line in enumerate(lines) if line.startswith(f"【{title}"))
    start = next(titles, len(lines)) + 1
    end = next((i for i in range(start, len(lines)) if lines[i][0] in "【#"), len(lines))
    return lines[start:end]


def _of(spec: OpSpec) -> list[str]:
    sections = _sections()
    name = spec.listed_as or spec.op
    assert name in sections, (
        "the operator list has no such operator: keep its file in a folder for --op-specs, "
        "or say in `listed_as` what the list calls it"
    )
    return sections[name]


@in_one_item("spec", SPECS)
def test_spec_says_what_the_list_says(spec: OpSpec) -> None:
    with Failures() as failures:
        for check in (_same_opsets, _same_dtypes, _same_attributes, _same_numbers):
            with failures.of(check.__name__):
                check(spec)


def _same_opsets(spec: OpSpec) -> None:
    line = next((line for line in _of(spec) if line.startswith("Opset")), "")
    listed = tuple(int(number) for number in re.findall(r"\d+", line))
    assert spec.opsets == listed
    assert spec.custom == (not listed)


def _same_dtypes(spec: OpSpec) -> None:
    """Check that the first input has the dtypes of the list."""
    lines = _part(_of(spec), "输入")
    lines += [line for line in _part(_of(spec), "约束") if STATED.search(line)]
    line = next((line for line in lines if DTYPE.search(line)), "")
    listed = {name for name in DTYPE.findall(line) if name[0] != "q"}
    listed = {OTHER_NAMES.get(name, name) for name in listed}
    first = next((row for row in spec.inputs if spec.dtypes_of(row) is not None), None)
    dtypes = spec.dtypes_of(first) if first is not None else None
    given = {dtype.value for dtype in dtypes or ()}
    if spec.op in SILENT:
        assert not listed
        assert spec.notes is not None
        assert "dtype" in spec.notes.en
    elif OPEN in line:
        assert given >= listed
    else:
        assert given == listed


def _same_attributes(spec: OpSpec) -> None:
    """Check that attributes of the list are there."""
    lines = _part(_of(spec), "属性")
    listed = {m[1] for line in lines if (m := NAMED.match(line))}
    given = {row.listed_as or row.name for row in spec.attributes if row.listed}
    elsewhere = " ".join(_part(_of(spec), "约束") + _part(_of(spec), "输入"))
    assert listed <= given
    assert all(name in elsewhere for name in given - listed)


def _same_numbers(spec: OpSpec) -> None:
    """Check that every number of the constraints is used."""
    text = spec_text(spec)
    for line in _part(_of(spec), "约束"):
        plain = re.sub(r"fp\d+|v\d+|\dD|\[[01]\]|[A-Za-z_]+\d+", " ", line)
        for number in re.findall(r"\d+", plain):
            assert re.search(rf"\b{number}\b", text), f"{number} of {line!r}"


def spec_text(spec: OpSpec) -> str:
    """Return the specification's file."""
    return Path(spec.path).read_text(encoding="utf-8")
