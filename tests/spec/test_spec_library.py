"""The library: index by file name, loading on demand, lookup by any spelling."""

import os
from pathlib import Path

import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_SPEC
from atc_py.spec import Library, compressed, library, stem_of

TEXT = """\
op: {op}
{kind}
summary: {{en: A demo, zh: 示例}}
inputs: []
outputs: [{{name: Y, dtypes: any}}]
"""


def _write(folder: Path, op: str, group: str = "nn", kind: str = "opsets: [9]") -> Path:
    path = folder / group / f"{stem_of(op)}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(TEXT.format(op=op, kind=kind), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("op_type", "stem"),
    [
        ("Conv", "conv"),
        ("BatchNormalization", "batch_normalization"),
        ("LRN", "lrn"),
        ("PRelu", "p_relu"),
        ("GatherND", "gather_nd"),
        ("ReduceL1", "reduce_l1"),
        ("AdaptiveMaxPool2D", "adaptive_max_pool2d"),
        ("AscendRequantS16", "ascend_requant_s16"),
        ("BatchMultiClassNMS", "batch_multi_class_nms"),
    ],
)
def test_stem_is_snake_case_of_the_operator(op_type: str, stem: str) -> None:
    assert stem_of(op_type) == stem


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((8, 9, 10, 11, 12, 13), "8-13"), ((8, 9, 10, 13), "8-10, 13"), ((7,), "7"), ((), "")],
)
def test_compressed_numbers_show_gaps(numbers: tuple[int, ...], text: str) -> None:
    assert compressed(numbers) == text


def test_index_opens_no_file(tmp_path: Path) -> None:
    path = _write(tmp_path, "Demo")
    path.write_text("[this is not a specification", encoding="utf-8")
    (tmp_path / "README.yaml").write_text("", encoding="utf-8")
    (entry,) = Library(tmp_path).index()
    assert (entry.group, entry.stem, entry.path) == ("nn", "demo", path)


def test_find_loads_only_the_file_asked_for(tmp_path: Path) -> None:
    _write(tmp_path, "Demo")
    _write(tmp_path, "Other").write_text("[broken", encoding="utf-8")
    library = Library(tmp_path)
    found = library.find("Demo")
    assert found is not None
    assert found.op == "Demo"
    assert library.find("Demo") is found
    with pytest.raises(AtcError) as caught:
        library.find("Other")
    assert caught.value.diagnostics[0].code is BAD_SPEC


@pytest.mark.parametrize("op_type", ["demo", "DEMO", "Missing", "", "../nn/demo", "nn/demo"])
def test_find_takes_the_exact_spelling_only(tmp_path: Path, op_type: str) -> None:
    _write(tmp_path, "Demo")
    assert Library(tmp_path).find(op_type) is None


def test_find_keeps_domains_apart(tmp_path: Path) -> None:
    _write(tmp_path, "Demo")
    _write(tmp_path, "AscendDemo", kind="custom: true")
    library = Library(tmp_path)
    assert library.find("Demo", "ai.onnx") is library.find("Demo", "")
    assert library.find("Demo", "com.microsoft") is None
    assert library.find("AscendDemo", "") is library.find("AscendDemo", "vendor") is not None


def test_index_refuses_one_stem_in_two_groups(tmp_path: Path) -> None:
    _write(tmp_path, "Demo", "math")
    second = _write(tmp_path, "Demo", "nn")
    with pytest.raises(AtcError) as caught:
        Library(tmp_path).index()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code is BAD_SPEC
    assert "is in the groups math and nn" in diagnostic.message
    assert diagnostic.place is not None
    assert diagnostic.place.file == str(second)


def test_lookup_takes_any_case_and_the_listed_spelling(tmp_path: Path) -> None:
    _write(tmp_path, "DemoNet", kind="opsets: [9]\nlisted_as: Demonetwork")
    library = Library(tmp_path)
    spellings = ("demonet", "DEMO_NET", "demoNetwork", "DemoNet")
    assert {spec.op for name in spellings if (spec := library.lookup(name))} == {"DemoNet"}
    assert all(library.lookup(name) for name in spellings)
    assert library.lookup("net") is None


def test_near_names_come_nearest_first(tmp_path: Path) -> None:
    for op in ("Conv", "ConvTranspose", "Relu"):
        _write(tmp_path, op)
    assert Library(tmp_path).near("convtranspos")[0] == "ConvTranspose"
    assert Library(tmp_path).near("Xyz") == ()


def test_own_index_and_specs_agree() -> None:
    specs = {stem_of(spec.op): spec for spec in library().all()}
    assert {entry.stem for entry in library().index()} == set(specs)
    assert all(specs[entry.stem].group == entry.group for entry in library().index())
    assert all(library().find(spec.op) is spec for spec in specs.values())


# Layers -----------------------------------------------------------------------------------------


def _layers(tmp_path: Path) -> tuple[Library, Path]:
    """Return a library with Conv, Relu and a listed spelling, and an empty folder over it."""
    lower, upper = tmp_path / "lower", tmp_path / "mine"
    lower.mkdir()
    upper.mkdir()
    _write(lower, "Conv")
    _write(lower, "Relu", "math", kind="opsets: [9]\nlisted_as: Relou")
    return Library(lower), upper


def _flat(folder: Path, op: str, kind: str = "opsets: [7]", suffix: str = "yaml") -> Path:
    path = folder / f"{stem_of(op)}.{suffix}"
    path.write_text(TEXT.format(op=op, kind=kind), encoding="utf-8")
    return path


def _faults(library: Library, folder: Path) -> list[tuple[str, str, str]]:
    with pytest.raises(AtcError) as caught:
        library.overlay(folder)
    return [(d.code.id, str(d.place), d.message) for d in caught.value.diagnostics]


def test_overlay_replaces_and_adds(tmp_path: Path) -> None:
    lower, mine = _layers(tmp_path)
    _flat(mine, "Conv")
    _flat(mine, "Swish", suffix="yml")
    library = lower.overlay(mine)
    assert [(spec.op, spec.opsets) for spec in library.all()] == [
        ("Conv", (7,)),
        ("Relu", (9,)),
        ("Swish", (7,)),
    ]
    assert [entry.stem for entry in library.index()] == ["conv", "swish", "relu"]
    assert library.find("Relu") is lower.find("Relu")
    assert library.lookup("relou") is lower.find("Relu")
    assert library.find("Swish") is library.lookup("SWISH") is not None
    assert library.near("swisch") == ("Swish",)
    assert library.near("Relo") == ("Relu",)
    assert [spec.opsets for spec in lower.all()] == [(9,), (9,)], "the lower one stays as it is"


def test_overlay_keeps_the_group_or_takes_that_of_its_folder(tmp_path: Path) -> None:
    lower, mine = _layers(tmp_path)
    _flat(mine, "Relu")
    _flat(mine, "Swish")
    _write(mine, "Conv", "vision")
    groups = {spec.op: spec.group for spec in lower.overlay(mine).all()}
    assert groups == {"Conv": "vision", "Relu": "math", "Swish": "user"}
    assert {e.stem: e.group for e in lower.overlay(mine).index()} == {
        "conv": "vision",
        "relu": "math",
        "swish": "user",
    }


def test_overlay_shows_files_as_the_user_named_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower, mine = _layers(tmp_path)
    _flat(mine, "Conv")
    monkeypatch.chdir(tmp_path)
    spec = lower.overlay(mine.relative_to(tmp_path)).find("Conv")
    assert spec is not None
    assert spec.place_of(3) == "mine/conv.yaml:3"
    built_in = lower.find("Conv")
    assert built_in is not None
    assert built_in.place_of(3) == "op_specs/lower/nn/conv.yaml:3"


def test_overlay_of_one_file(tmp_path: Path) -> None:
    lower, mine = _layers(tmp_path)
    library = lower.overlay(_flat(mine, "Conv"))
    conv = library.find("Conv")
    assert conv is not None
    assert (conv.opsets, conv.group) == ((7,), "nn")


def test_overlays_stack(tmp_path: Path) -> None:
    lower, mine = _layers(tmp_path)
    _flat(mine, "Conv")
    top = tmp_path / "top"
    top.mkdir()
    _flat(top, "Conv", "opsets: [5]")
    library = lower.overlay(mine).overlay(top)
    assert [(spec.op, spec.opsets) for spec in library.all()] == [("Conv", (5,)), ("Relu", (9,))]
    assert len(library.index()) == 2


def test_overlay_with_a_like_stem_hides_no_other_operator(tmp_path: Path) -> None:
    lower, mine = _layers(tmp_path)
    _flat(mine, "CONV", "custom: true")
    library = lower.overlay(mine)
    assert [spec.op for spec in library.all()] == ["CONV", "Conv", "Relu"]
    assert library.find("Conv") is lower.find("Conv") is not None
    assert library.find("CONV", "mine") is not None
    assert len(library.index()) == 3


def test_overlay_reads_lower_files_only_when_asked(tmp_path: Path) -> None:
    lower, mine = _layers(tmp_path)
    (tmp_path / "lower" / "nn" / "conv.yaml").write_text("[broken", encoding="utf-8")
    _flat(mine, "Swish")
    library = lower.overlay(mine)
    assert library.find("Swish") is not None
    with pytest.raises(AtcError):
        library.find("Conv")


def test_overlay_tells_all_faults_of_all_files_at_once(tmp_path: Path) -> None:
    lower, mine = _layers(tmp_path)
    (mine / "a.yaml").write_text("op: A\nop: B\n", encoding="utf-8")
    _flat(mine, "Bad", "opsets: [9, 8]\nsurprise: 1")
    _flat(mine, "Gone").rename(mine / "other.yaml")
    assert _faults(lower, mine) == [
        ("ATC2009", f"{mine}/a.yaml:2:1", "key 'op' occurs here and in line 1"),
        ("ATC2009", f"{mine}/bad.yaml:3:1", "unknown key 'surprise'"),
        (
            "ATC2009",
            f"{mine}/other.yaml:1:5",
            "Gone belongs in gone.yaml, this file is other.yaml",
        ),
    ]


@pytest.mark.parametrize("second", ["nn/conv.yaml", "conv.yml"])
def test_overlay_refuses_two_files_for_an_operator(tmp_path: Path, second: str) -> None:
    lower, mine = _layers(tmp_path)
    first = _flat(mine, "Conv")
    (mine / "nn").mkdir()
    (mine / second).write_bytes(first.read_bytes())
    ((code, place, message),) = _faults(lower, mine)
    assert code == "ATC2009"
    assert place == f"{mine}/{second}:1:5"
    assert message == f"Conv is described here and in {first}"


def test_overlay_refuses_a_folder_that_is_missing_or_has_no_yaml(tmp_path: Path) -> None:
    lower, mine = _layers(tmp_path)
    (mine / "README.md").write_text("op: Conv", encoding="utf-8")
    (mine / ".hidden").mkdir()
    _flat(mine / ".hidden", "Conv")
    assert _faults(lower, mine) == [("ATC2009", str(mine), f"{mine} contains no YAML file")]
    gone = tmp_path / "gone"
    assert _faults(lower, gone) == [("ATC2001", str(gone), f"{gone} does not exist")]
    assert [code for code, _, _ in _faults(lower, tmp_path / "a\0b")] == ["ATC2001"]
    ((code, _, _),) = _faults(lower, tmp_path / ("x" * 300))
    assert code in {"ATC2001", "ATC2002"}, "Pythons differ in what they make of a long name"


def test_overlay_never_waits_for_a_pipe(tmp_path: Path) -> None:
    lower, mine = _layers(tmp_path)
    os.mkfifo(mine / "conv.yaml")
    ((code, place, message),) = _faults(lower, mine)
    assert (code, place) == ("ATC2002", str(mine / "conv.yaml"))
    assert "not a regular file" in message


def test_overlay_refuses_a_link_to_nothing_and_an_endless_one(tmp_path: Path) -> None:
    lower, mine = _layers(tmp_path)
    (mine / "a.yaml").symlink_to(mine / "gone")
    (mine / "b.yaml").symlink_to(mine / "b.yaml")
    (mine / "loop").symlink_to(mine)
    assert [code for code, _, _ in _faults(lower, mine)] == ["ATC2001", "ATC2002"]


def test_overlay_refuses_a_folder_with_too_many_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower, mine = _layers(tmp_path)
    monkeypatch.setattr("atc_py.spec.folders._MOST_FILES", 1)
    _flat(mine, "Conv")
    _flat(mine, "Relu")
    ((_, place, message),) = _faults(lower, mine)
    assert place == str(mine)
    assert "more than 1 YAML" in message
