"""Lists: their folders, and files that say only how they differ from another list's."""

from pathlib import Path

import pytest

from atc_py.diag import AtcError
from atc_py.spec import AttributeSpec, OperandSpec, Rule, library, load_spec
from atc_py.spec.lists import find_list, operator_lists
from atc_py.spec.yaml_reader import read_document

BASE = """\
op: Demo
opsets: [9, 10]
summary: {en: A demo, zh: 示例}
inputs:
  - {name: X, dtypes: [float16, float32], rank: 4, layout: NCHW}
  - {name: B, dtypes: same_as X, optional: true}
outputs: [{name: Y, dtypes: same_as X}]
attributes:
  - {name: axis, type: int, default: 1}
  - {name: mode, type: string, default: a, one_of: [a, b]}
constraints:
  - {rule: dim_in_range, tensor: X, dim: W, range: [1, 10]}
  - {rule: dim_in_range, tensor: X, dim: H, range: [1, 10]}
"""

OWN = """\
op: Demo
like: base
page: "0042"
opsets: [9, 10, 11]
inputs:
  - {name: X, dtypes: [float16]}
  - {name: B, drop: true}
  - {name: C, dtypes: [int64]}
attributes:
  - {name: mode, without: [one_of]}
dropped_rules:
  - {rule: dim_in_range, dim: W}
constraints:
  - {rule: prime_dim_below, tensor: X, dim: N, limit: 7}
"""


def lists(folder: Path, own: str = OWN) -> Path:
    """Write two lists of one operator each; return the file of the second."""
    (folder / "lists.yaml").write_text("lists: []\n", encoding="utf-8")
    for name, text in (("base", BASE), ("newer", own)):
        path = folder / name / "nn" / "demo.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    return path


def test_file_says_how_it_differs(tmp_path: Path) -> None:
    spec = load_spec(lists(tmp_path))
    assert spec.opsets == (9, 10, 11)
    assert spec.page == "0042"
    assert spec.summary.en == "A demo"
    assert [(row.name, row.optional, row.rank) for row in spec.inputs] == [
        ("X", False, 4),
        ("C", False, None),
    ]
    assert [dtype.value for dtype in spec.dtypes_of(spec.inputs[0]) or ()] == ["float16"]
    assert [(row.name, row.one_of) for row in spec.attributes] == [("axis", ()), ("mode", ())]
    assert [rule.name for rule in spec.constraints] == ["dim_in_range", "prime_dim_below"]


def test_each_fact_has_the_place_where_it_stands(tmp_path: Path) -> None:
    spec = load_spec(lists(tmp_path))
    rows: list[OperandSpec | AttributeSpec | Rule] = [*spec.inputs, *spec.outputs]
    rows += [*spec.attributes, *spec.constraints]
    assert [spec.place_of(row.line) for row in rows] == [
        "op_specs/newer/nn/demo.yaml:6",
        "op_specs/newer/nn/demo.yaml:8",
        "op_specs/base/nn/demo.yaml:7",
        "op_specs/base/nn/demo.yaml:9",
        "op_specs/newer/nn/demo.yaml:10",
        "op_specs/base/nn/demo.yaml:13",
        "op_specs/newer/nn/demo.yaml:14",
    ]
    assert spec.place_of(spec.opsets_line) == "op_specs/newer/nn/demo.yaml:4"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("{name: B, drop: true}", "{name: E, drop: true}", 7, "the other list has no 'E'"),
        ("without: [one_of]", "without: [range]", 10, "the other list has no key 'range' here"),
        ("dim: W}", "dim: C}", 12, "the other list has no such rule"),
        ("like: base", "like: older", 2, "no list 'older' beside this one has a file demo.yaml"),
        ("dtypes: [float16]", "dtypes: [float1]", 6, "unknown value 'float1'"),
    ],
)
def test_fault_of_a_differing_file_has_its_place(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    path = lists(tmp_path, OWN.replace(old, new))
    with pytest.raises(AtcError) as caught:
        load_spec(path)
    (fault,) = caught.value.diagnostics
    assert fault.place is not None
    assert (fault.place.file, fault.place.line) == (str(path), line)
    assert message in fault.message


def test_fault_of_an_inherited_fact_has_its_own_file(tmp_path: Path) -> None:
    path = lists(tmp_path)
    base = tmp_path / "base" / "nn" / "demo.yaml"
    base.write_text(BASE.replace("type: int,", "type: integer,"), encoding="utf-8")
    with pytest.raises(AtcError) as caught:
        load_spec(path)
    (fault,) = caught.value.diagnostics
    assert fault.place is not None
    assert (fault.place.file, fault.place.line) == (str(base), 9)


def test_lists_have_folders_and_the_default_is_first() -> None:
    assert [each.name for each in operator_lists()] == ["base", "cann-9.0"]
    for each in operator_lists():
        assert library(each.name).index()
    with pytest.raises(AtcError, match="no operator list is called 'cann-9'"):
        find_list("cann-9")


def test_no_fact_of_a_list_is_typed_twice() -> None:
    twice = []
    for each in operator_lists():
        for entry in library(each.name).index():
            own = read_document(entry.path.read_text(encoding="utf-8"), entry.path.name).data
            if "like" not in own:
                continue
            (other,) = (each.folder.parent / own["like"]).glob(f"*/{entry.path.name}")
            said = read_document(other.read_text(encoding="utf-8"), other.name).data
            twice += [(entry.path.name, fact) for fact in _repeated(own, said)]
    assert twice == []


def _repeated(own: dict[str, object], other: dict[str, object]) -> list[str]:
    """Return the facts of a file that the file it is like says already."""
    found = []
    for key, value in own.items():
        if key in {"op", "like"}:
            continue
        if value == other.get(key):
            found.append(key)
        if not isinstance(value, list) or key not in {"inputs", "outputs", "attributes"}:
            continue
        before = {item["name"]: item for item in other.get(key, [])}  # type: ignore[attr-defined]
        for item in value:
            namesake = before.get(item["name"], {})
            same = [part for part in item if part != "name" and item[part] == namesake.get(part)]
            found += [f"{key} {item['name']} {part}" for part in same]
    return found


def test_repeated_fact_is_found() -> None:
    own = {"opsets": [9], "inputs": [{"name": "X", "rank": 4, "dtypes": ["int8"]}]}
    other = {"opsets": [9], "inputs": [{"name": "X", "rank": 4, "dtypes": ["int4"]}]}
    assert _repeated(own, other) == ["opsets", "inputs X rank"]
