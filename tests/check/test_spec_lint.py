"""Linting: every kind of fault at its line and column, and atc-py's own files are clean."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from atc_py.check.lint import LintResult, lint
from atc_py.diag import Severity
from atc_py.diag.codes import BAD_SPEC, DOUBTFUL_SPEC
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.source import AttributeSchema, FormalParameter, OperatorSchema
from atc_py.spec.document import MAX_BYTES
from atc_py.spec.lists import operator_lists
from tests.executed_lines import PACKAGE, executed
from tests.failures import in_one_item

GOOD = """\
op: Demo
opsets: [9, 11]
summary: {en: A demo, zh: 示例}
inputs:
  - {name: X, dtypes: [float16]}
  - {name: K, dtypes: [int64], since: 11}
outputs:
  - {name: Y, dtypes: same_as X}
attributes:
  - {name: k, type: int, until: 9}
  - {name: group, type: int, one_of: [1], otherwise: rewrite, rewrite: split-groups}
  - {name: later, type: int, since: 14, listed: false}
constraints:
  - {rule: attr_odd, attribute: group, level: rewrite, rewrite: split-groups}
example: {inputs: {X: [1]}, values: {K: [1]}, attributes: {group: 1}}
"""


def _version(
    since: int, inputs: str, attributes: str, *, deprecated: bool = False
) -> OperatorSchema:
    formal = [
        FormalParameter(name, frozenset(), "T", optional=False, variadic=False)
        for name in (*inputs.split(), "Y")
    ]
    rows = {
        name: AttributeSchema(name, "int", required=False, default=None)
        for name in attributes.split()
    }
    return OperatorSchema("Demo", since, tuple(formal[:-1]), (formal[-1],), rows, deprecated)


@dataclass(frozen=True)
class Onnx:
    """An ONNX that has one operator."""

    known: dict[str, tuple[OperatorSchema, ...]] = field(
        default_factory=lambda: {
            "Demo": (
                _version(6, "X", "k group"),
                _version(10, "X K", "group"),
                _version(14, "X K", "group later"),
                _version(16, "X K", "group later", deprecated=True),
            )
        }
    )

    newest_opset: int = 16

    def versions(self, op_type: str) -> tuple[OperatorSchema, ...]:
        return self.known.get(op_type, ())

    def at(self, op_type: str, opset: int) -> OperatorSchema | None:
        raise NotImplementedError


def _lint(tmp_path: Path, text: str) -> LintResult:
    (tmp_path / "demo.yaml").write_text(text, encoding="utf-8")
    return lint([tmp_path], Onnx())


def test_good_file_has_no_fault(tmp_path: Path) -> None:
    result = _lint(tmp_path, GOOD)
    assert (result.count, result.errors, result.findings) == (1, 0, ())


# name: (text to replace, replacement, part of the message, part of the help); ¦ is the place
FAULTS = {
    "level without rewrite": (
        "level: rewrite, rewrite: split-groups",
        "¦level: rewrite",
        "level: rewrite does not say which",
        "add-bias",
    ),
    "otherwise without rewrite": (
        "otherwise: rewrite, rewrite: split-groups",
        "¦otherwise: rewrite",
        "otherwise: rewrite does not say which",
        "split-groups",
    ),
    "operand without rewrite": (
        "since: 11}",
        "since: 11, supported: false, ¦otherwise: rewrite}",
        "otherwise: rewrite does not say which",
        "split-groups",
    ),
    "rewrite without level": (
        "level: rewrite, rewrite: split-groups",
        "¦rewrite: split-groups",
        "rewrite is given, but level is error",
        "write level: rewrite",
    ),
    "rewrite at another level": (
        "otherwise: rewrite, rewrite: split-groups",
        "otherwise: aicpu, ¦rewrite: split-groups",
        "but otherwise is aicpu",
        "delete the key",
    ),
    "unknown rewrite": (
        "level: rewrite, rewrite: split-groups",
        "level: rewrite, rewrite: ¦split-group",
        "no rewrite is called 'split-group'",
        "rewrites: add-bias",
    ),
    "unknown operator": ("op: Demo", "op: ¦Demoo", "ONNX has no operator Demoo", "custom: true"),
    "unknown input": ("name: K,", "name: ¦Q,", "has no input 'Q' in version 10", "X, K"),
    "unknown output": ("name: Y,", "name: ¦Z,", "has no output 'Z' in version 6, 10", "Y"),
    "input of another version": (
        "dtypes: [int64], since: 11",
        "dtypes: [int64], until: 9",
        "has no input 'K' in version 6",
        "X",
    ),
    "unknown attribute": (
        "{name: k, type",
        "{name: ¦kk, type",
        "has no attribute 'kk' in version 6",
        "k, group",
    ),
    "attribute of a later version without since": (
        "since: 14, listed",
        "listed",
        "has no attribute 'later' in version 6, 10",
        "k, group",
    ),
    "example of another input": ("{X: [1]}", "{¦Q: [1]}", "Demo has no input 'Q'", "X, K"),
    "example of another value": ("{K: [1]}", "{¦Q: [1]}", "Demo has no input 'Q'", "X, K"),
    "example of another attribute": (
        "{group: 1}",
        "{¦grp: 1}",
        "Demo has no attribute 'grp'",
        "k, group",
    ),
}


@in_one_item("name", FAULTS)
def test_lint_fault_names_line_column_and_hint(tmp_path: Path, name: str) -> None:
    old, new, message, help_ = FAULTS[name]
    text = GOOD.replace(old, new, 1) if old in GOOD else pytest.fail("the text must stand")
    before, mark, after = text.partition("¦")
    path = tmp_path / f"{'demoo' if 'Demoo' in text else 'demo'}.yaml"
    path.write_text(before + after, encoding="utf-8")
    result = lint([path], Onnx())
    found = next(d for d in result.findings if message in d.message)
    assert found.code is BAD_SPEC
    assert help_ in (found.help or "")
    assert result.errors >= 1
    if mark:
        where = f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
        assert str(found.place) == f"{path}:{where}"


def test_lint_finds_one_fault_where_there_is_one(tmp_path: Path) -> None:
    result = _lint(tmp_path, GOOD.replace("{name: k, type", "{name: kk, type"))
    assert [d.place.line for d in result.findings if d.place is not None] == [10]


def test_lint_warns_of_opsets_that_onnx_does_not_have(tmp_path: Path) -> None:
    result = _lint(tmp_path, GOOD.replace("[9, 11]", "[4, 5, 9, 11, 16, 17]"))
    assert result.errors == 0
    assert [(d.message, str(d.place)) for d in result.findings] == [
        ("listed at 4-5, ONNX has Demo since 6", f"{tmp_path}/demo.yaml:2:10"),
        ("listed at 16-17, ONNX ended Demo at 16", f"{tmp_path}/demo.yaml:2:23"),
    ]
    assert all(d.code is DOUBTFUL_SPEC for d in result.findings)
    assert DOUBTFUL_SPEC.severity is Severity.WARNING


def test_lint_does_not_judge_rows_of_versions_that_nobody_knows(tmp_path: Path) -> None:
    text = GOOD.replace("name: later, type: int, since: 14", "name: coming, type: int, since: 29")
    assert _lint(tmp_path, text).findings == ()


def test_lint_asks_onnx_nothing_of_custom_operators(tmp_path: Path) -> None:
    text = GOOD.replace("op: Demo", "op: Mine").replace("opsets: [9, 11]", "custom: true")
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    assert lint([path], Onnx()).findings == ()


def test_lint_tells_all_faults_of_all_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "demo.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "a.yaml").write_text("op: [", encoding="utf-8")
    (tmp_path / "z.yaml").write_text(GOOD.replace("op:", "opp:"), encoding="utf-8")
    result = _lint(tmp_path, GOOD.replace("name: k,", "name: kk,"))
    assert result.count == 4
    found = [(str(d.place), d.message.partition(" in ")[0]) for d in result.findings]
    assert found[1:] == [
        (f"{tmp_path}/demo.yaml:1:5", "Demo is described here and"),
        (f"{tmp_path}/demo.yaml:10:12", "ONNX's Demo has no attribute 'kk'"),
        (f"{tmp_path}/z.yaml:1:1", "unknown key 'opp'"),
    ]
    assert found[0][0].startswith(f"{tmp_path}/a.yaml:")


def test_lint_tells_of_two_operators_with_one_file_name(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    other = GOOD.replace("op: Demo", "op: DEMO").replace("opsets: [9, 11]", "custom: true")
    (tmp_path / "b" / "demo.yaml").write_text(other, encoding="utf-8")
    result = _lint(tmp_path, GOOD)
    assert [d.message.partition(" in ")[0] for d in result.findings] == [
        "Demo has the file name of DEMO"
    ]


BOMB = "a: &a [x, x]\n" + "".join(
    f"{n}: &{n} [*{p}, *{p}]\n" for p, n in zip("abcde", "bcdef", strict=True)
)

HOSTILE = {
    "bomb": (BOMB.encode(), "demo.yaml:1:4", "anchor &a is refused"),
    "alias": (b"op: *x\n", "demo.yaml:1:5", "alias *x is refused"),
    "unknown key": ((GOOD + "extra: 1\n").encode(), "demo.yaml:16:1", "unknown key 'extra'"),
    "unknown predicate": (
        GOOD.replace("attr_odd", "attr_even").encode(),
        "demo.yaml:14:12",
        "unknown value 'attr_even'",
    ),
    "binary": (bytes(range(256)), "demo.yaml:2:118", "is not UTF-8"),
    "nul": (b"op: Demo\x00", "demo.yaml:1:9", "U+0000"),
    "huge": (b"op: Demo\n" + b"#" * 50_000_000, "demo.yaml:1:1", f"at most {MAX_BYTES} bytes"),
    "deep": (b"a: " + b"[" * 60_000, "demo.yaml:1:16", "nested deeper"),
    "empty": (b"", "demo.yaml:1:1", "the file is empty"),
    "list": (b"- 1\n", "demo.yaml:1:1", "expected mapping"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_lint_refuses_hostile_files_with_little_work(tmp_path: Path, name: str) -> None:
    content, place, message = HOSTILE[name]
    (tmp_path / "demo.yaml").write_bytes(content)
    lines = executed(lambda: lint([tmp_path], Onnx()), PACKAGE)
    assert sum(lines.values()) < 200_000
    (found,) = lint([tmp_path], Onnx()).findings
    assert found.code is BAD_SPEC
    assert str(found.place).rpartition("/")[2] == place
    assert message in found.message


def test_own_specifications_have_no_fault() -> None:
    result = lint([each.folder for each in operator_lists()], history())
    assert result.count > 100
    errors = [d for d in result.findings if d.code is not DOUBTFUL_SPEC]
    assert [(str(d.place), d.message) for d in errors] == []
