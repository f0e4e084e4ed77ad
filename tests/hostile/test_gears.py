"""Offline models with gears that are cut, incomplete or contradict themselves: refused by code."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import atc_py
from atc_py.cli.main import cli
from atc_py.diag import AtcError, Code, Diagnostic
from atc_py.diag.codes import NOT_OM, OM_CONTENT, OM_MEMBER, OM_VERSION
from atc_py.package.reader import open_model
from tests.gears.models import image_model
from tests.hostile.sealed_models import members_of, mutated, sealed
from tests.sampling import sampled

COMMANDS = (
    ("info", "@"),
    ("info", "@", "--gear", "1"),
    ("run", "@", "--random", "0"),
    ("run", "@", "--random", "0", "--gear", "0"),
    ("profile", "@"),
    ("kernels", "@", "--output", "kernels"),
)
DOCUMENTS = ("model.json", "report.json", "gears/000/model.json", "gears/001/model.json")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return an offline model with three gears."""
    folder = tmp_path_factory.mktemp("gears")
    source = image_model(folder / "net.onnx")
    sizes = "16,16;16,24;24,16"
    atc_py.convert(source, folder / "net.om", input_shape="x:1,3,-1,-1", image_sizes=sizes)
    return (folder / "net.om").read_bytes()


def refusal(path: Path, data: bytes) -> tuple[Code, str]:
    """Return code and message with which a file is refused."""
    path.write_bytes(data)
    with pytest.raises(AtcError) as caught:
        open_model(path)
    found = caught.value.diagnostics[0]
    return found.code, found.message


def changed(data: bytes, change: Callable[[Any], object], member: str = "model.json") -> bytes:
    """Return the model with one of its documents changed."""
    members = members_of(data)
    document = json.loads(members[member])
    change(document)
    members[member] = json.dumps(document).encode()
    return sealed(members)


def without(data: bytes, *names: str) -> bytes:
    """Return the model without some of its members."""
    return sealed({name: each for name, each in members_of(data).items() if name not in names})


def command(*args: str) -> tuple[Diagnostic, ...]:
    """Return a command's refusal; anything but a diagnostic is passed on."""
    try:
        cli.main(args, prog_name="atc-py", standalone_mode=False)
    except AtcError as error:
        return error.diagnostics
    return ()


def test_sealed_copy_is_sound(sound: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.om").write_bytes(sealed(members_of(sound)))
    with open_model(tmp_path / "m.om") as model:
        assert model.gears is not None
        assert [each.at_gear(2).gear for each in (model,)] == [2]


@pytest.mark.parametrize("start", sampled([0], range(20, 120, 20)))
def test_mutated_documents_are_taken_or_refused(
    sound: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: int
) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in range(start, start + 20):
        generator = random.Random(seed)  # noqa: S311  (no secret)
        members = members_of(sound)
        name = generator.choice(DOCUMENTS)
        members[name] = json.dumps(mutated(json.loads(members[name]), generator)).encode()
        (tmp_path / "m.om").write_bytes(sealed(members))
        for each in COMMANDS:
            for found in command(*(part.replace("@", "m.om") for part in each)):
                assert found.code.id[:4] in {"ATC1", "ATC2", "ATC5", "ATC7"}, (seed, each)


@pytest.mark.parametrize("start", sampled([0], range(50, 200, 50)))
def test_flipped_bits_and_cuts_are_found(sound: bytes, tmp_path: Path, start: int) -> None:
    for seed in range(start, start + 50):
        generator = random.Random(seed)  # noqa: S311  (no secret)
        data = bytearray(sound)
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        if generator.random() < 0.2:
            del data[generator.randrange(len(data)) :]
        assert refusal(tmp_path / "m.om", bytes(data))[0] in {NOT_OM, OM_MEMBER}, seed


def _gears(document: Any) -> Any:
    """Return the table of gears of a description."""
    return document["gears"]["gears"]


def _set(place: Callable[[Any], Any], key: Any, value: Any) -> Callable[[Any], object]:
    """Return a change that sets one entry of a document."""

    def change(document: Any) -> None:
        place(document)[key] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: _gears(d).pop(), "none lists it"),
        (
            lambda d: d["gears"]["gears"].__delitem__(slice(1, None)),
            "2 to 256 gears, this one has 1",
        ),
        (lambda d: _gears(d).extend(_gears(d) * 130), "2 to 256 gears"),
        (_set(lambda d: _gears(d)[0], "values", [16, 24]), "must differ"),
        (_set(lambda d: _gears(d)[0], "values", [16]), "must have 2 numbers"),
        (_set(lambda d: _gears(d)[0], "values", [0, 16]), "must be in"),
        (_set(lambda d: _gears(d)[0], "values", [2**40, 16]), "must be in"),
        (_set(lambda d: _gears(d)[0], "values", [32, 16]), "its graph has others"),
        (_set(lambda d: d["gears"], "kind", "other"), "kind of gears"),
        (_set(lambda d: d["gears"], "kind", "batch"), "must have 1 numbers"),
        (_set(lambda d: d["gears"]["inputs"][0], "name", "z"), "its graph has others"),
        (_set(lambda d: d["gears"]["inputs"][0], "dims", [1, 3, 16, 16]), "an open dim"),
        (_set(lambda d: d["gears"]["inputs"][0], "dims", [1, -3, None, None]), "no input can"),
        (_set(lambda d: d["gears"]["shape_data"], "shape", [3]), "that chooses a gear"),
        (_set(lambda d: d["gears"]["shape_data"], "name", "x"), "that chooses a gear"),
        (_set(lambda d: _gears(d)[1], "model", "gears/007/model.json"), "must be a member"),
        (_set(lambda d: _gears(d)[1], "model", "report.json"), "must be a member"),
        (_set(lambda d: _gears(d)[1], "model", "gears/000/model.json"), "none lists it"),
        (_set(lambda d: _gears(d)[1], "report", "weights/none"), "the report must be"),
        (_set(lambda d: _gears(d)[1], "kernels", {"a": "b"}), "a kernel must be a member"),
        (
            _set(lambda d: _gears(d)[1], "kernels", {"../../a": "gears/000/model.json"}),
            "a plain relative one",
        ),
        (_set(lambda d: d, "soc", "Ascend310"), "the name, SoC and options"),
    ],
)
def test_tables_that_disagree_are_refused(
    sound: bytes, tmp_path: Path, change: Callable[[Any], object], words: str
) -> None:
    code, message = refusal(tmp_path / "m.om", changed(sound, change))
    assert code is OM_CONTENT
    assert words in message


def test_graph_of_another_version_is_refused(sound: bytes, tmp_path: Path) -> None:
    change = _set(lambda d: d, "format_version", 2)
    code, message = refusal(tmp_path / "m.om", changed(sound, change, "gears/001/model.json"))
    assert (code, "version 3" in message) == (OM_CONTENT, True)
    code, message = refusal(
        tmp_path / "m.om", changed(sound, _set(lambda d: d, "format_version", 6))
    )
    assert (code, "version 4" in message) == (OM_VERSION, True)
    later = changed(sound, _set(lambda d: d, "format_version", 5))
    assert refusal(tmp_path / "m.om", later)[0] == OM_CONTENT  # names of dims are missing


def test_missing_members_are_refused(sound: bytes, tmp_path: Path) -> None:
    names = list(members_of(sound))
    weights = next(name for name in names if name.startswith("weights/"))
    for name in (weights, "gears/001/model.json", "report.json"):
        assert refusal(tmp_path / "m.om", without(sound, name))[0] is OM_CONTENT


def test_gears_of_other_ports_are_refused(sound: bytes, tmp_path: Path) -> None:
    def change(document: Any) -> None:
        document["outputs"][0]["name"] = "other"

    code, message = refusal(tmp_path / "m.om", changed(sound, change, "gears/002/model.json"))
    assert (code, "the same inputs and outputs" in message) == (OM_CONTENT, True)
