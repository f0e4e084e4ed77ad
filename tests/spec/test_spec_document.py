"""YAML reading: the subset, and line and column of whatever is outside it."""

import pytest
import yaml

from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_SPEC
from atc_py.spec import yaml_reader
from atc_py.spec.document import MAX_BYTES
from atc_py.spec.yaml_reader import read_document
from tests.failures import in_one_item

LOADERS = [
    yaml.SafeLoader,
    *([yaml.CSafeLoader] if yaml.__with_libyaml__ else []),
]


@pytest.fixture(autouse=True, params=LOADERS)
def _each_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with each of PyYAML's parsers, which must agree."""
    monkeypatch.setattr(yaml_reader, "_LOADER", request.param)


FAULTS = {
    "tab": ("a: 1\nb:\t- 1\n\tc: 2\n", None, "not YAML"),
    "open bracket": ("a: [1, 2\nb: 3\n", (2, 2), "not YAML"),
    "bad indent": ("a:\n  b: 1\n c: 2\n", (3, 2), "not YAML"),
    "duplicate key": ("a: 1\nb: 2\na: 3\n", (3, 1), "key 'a' occurs here and in line 1"),
    "duplicate inner key": ("a:\n  - {x: 1, x: 2}\n", (2, 12), "key 'x' occurs here and in line 2"),
    "anchor": ("a: &one 1\n", (1, 4), "anchor &one is refused"),
    "alias": ("a: 1\nb: *one\n", (2, 4), "alias *one is refused"),
    "merge key": ("a:\n  <<: {x: 1}\n", (2, 3), "this key is not a name"),
    "tag": ("a: !!python/name:os.system x\n", (1, 4), "tag tag:yaml.org,2002:python/name"),
    "plain tag": ("a: !!str 1\n", (1, 4), "tag tag:yaml.org,2002:str is refused"),
    "number as key": ("a: 1\n1: 2\n", (2, 1), "this key is not a name"),
    "list as key": ("? [1]\n: 2\n", (1, 3), "this key is not a name"),
    "key of the loader's": ('"@line": 1\n', (1, 1), "this key is not a name"),
    "empty value": ("a: 1\nb:\n", (2, 3), "the value is empty"),
    "null": ("a: null\n", (1, 4), "the value is empty"),
    "tilde": ("a: [1, ~]\n", (1, 8), "the value is empty"),
    "long number": (f"a: {'9' * 5000}\n", (1, 4), "too many digits"),
    "second document": ("a: 1\n---\nb: 2\n", (2, 1), "a second document starts here"),
    "empty file": ("", (1, 1), "the file is empty"),
    "only a comment": ("# nothing\n", (1, 1), "the file is empty"),
    "control character": ("a: 1\nb: x\x00y\n", (2, 5), "U+0000 is not allowed in YAML"),
    "escaped control character": ('a: 1\nb: "x\\x00"\n', (2, 4), "not printable"),
    "escaped surrogate": ('a: "\\ud800"\n', None, "not "),
    "surrogate": ("a: \ud800\n", (1, 4), "U+D800 is not allowed in YAML"),
    "too deep": ("a: " + "[" * 40 + "]" * 40, (1, 16), "nested deeper than 12"),
    "too deep to look ahead": ("a: " + "[" * 1500, (1, 16), "nested deeper than 12"),
    "too deep before an error": ("b: é\na: " + "[" * 40 + "%", (2, 16), "nested deeper than 12"),
    "too large": ("a" * (MAX_BYTES + 1), (1, 1), "at most 65536 characters, found 65537"),
}


@in_one_item("name", FAULTS)
def test_document_fault_names_line_and_column(name: str) -> None:
    text, where, message = FAULTS[name]
    with pytest.raises(AtcError) as caught:
        read_document(text, "op_specs/base/nn/x.yaml")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code is BAD_SPEC
    assert message in diagnostic.message
    assert diagnostic.help
    place = diagnostic.place
    assert place is not None
    assert place.file == "op_specs/base/nn/x.yaml"
    assert place.line is not None
    if where is not None:
        assert (place.line, place.column) == where


def test_document_scalars_mean_what_they_look_like() -> None:
    text = (
        "a: [1, -2, +3, 0]\nb: [1.5, 1e-5, -3.4e+38, .inf, -.inf]\nc: [true, false]\n"
        "d: [yes, on, No, 010, 1_000, 1:30, 0x10, .nan, 2020-01-01, '5', \"true\", '']\n"
        "e: >-\n  two\n  lines\n"
    )
    data = read_document(text, "x").data
    assert data["a"] == [1, -2, 3, 0]
    assert all(type(item) is int for item in data["a"])
    assert data["b"] == [1.5, 1e-5, -3.4e38, float("inf"), float("-inf")]
    assert data["c"] == [True, False]
    assert all(isinstance(item, str) for item in data["d"])
    assert data["d"][-3:] == ["5", "true", ""]
    assert data["e"] == "two lines"


def test_document_marks_point_at_keys_and_values() -> None:
    read = read_document("a: 1\nlist:\n  - {x: 1, y: [2, 3]}\n", "x")
    keys = {path: (mark.line, mark.column) for path, mark in read.keys.items()}
    values = {path: (mark.line, mark.column) for path, mark in read.values.items()}
    assert keys["list", 0, "y"] == (3, 12)
    assert values["list", 0] == (3, 5)
    assert values["list", 0, "y", 1] == (3, 19)
    absent = read.mark(("list", 0, "z", 4), key=True)
    assert (absent.line, absent.column) == (3, 5)
