"""A board beside simulator and original: verdicts of layers, fates of nodes, times, kits."""

import json
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from atc_py.adapters.board import results
from atc_py.adapters.board.layout import StepRecord
from atc_py.adapters.board.results import opened_archive
from atc_py.cli.main import cli
from atc_py.compare.board.judging import _Reached, _worst
from atc_py.compare.board.run import BoardFiles, BoardRunDone, compare_run
from atc_py.compare.board.values import unread_reason
from atc_py.compare.model import compiling
from atc_py.cost.calibration import load_fit
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_OPTION
from atc_py.options.compile_options import release_of
from atc_py.package.ge.dump_tensors import UnreadTensorError
from atc_py.results.board import LayerState, LayerVerdict, NodeFate
from atc_py.text import Text
from atc_py.text.language import speak
from tests.board.returned import Returned
from tests.board.small_board import MODE, SOC, Array, SmallBoard, small_network
from tests.report.page_document import document_of

FUSED = "/conv2/add/relu2"


class Bench:
    """The network, its input, and the board that ran it."""

    def __init__(self, folder: Path) -> None:
        self.model = folder / "small.onnx"
        self.feeds = {"x": small_network(self.model)}
        self.board = SmallBoard(self.model, folder, self.feeds)

    def compared(self, **files: Any) -> BoardRunDone:
        files.setdefault("om_json", self.board.json)
        compilation = compiling((self.model, None, None), MODE, (SOC, "", None))
        return compare_run(compilation, BoardFiles(**files), (self.feeds, None))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"))


def codes(done: BoardRunDone) -> list[str]:
    return [each.code.name for each in done.comparison.findings]


def test_board_that_agrees_has_every_node_explained(bench: Bench, tmp_path: Path) -> None:
    done = bench.compared(dumps=bench.board.dump(tmp_path)).comparison
    layers = {each.op: each for each in done.layers}
    assert {each.verdict for each in done.layers} == {LayerVerdict.GOOD}
    assert layers[FUSED].nodes == ("/conv2", "/add", "/relu2")
    between = layers[FUSED].between
    assert between is not None
    assert between.distance == 0
    inserted = [each for each in done.layers if not each.nodes]
    assert {each.type for each in inserted} == {"Cast", "TransData"}
    assert all(each.value and each.reason for each in inserted)
    fates = {each.name: each for each in done.nodes}
    assert fates["/add"].fate is NodeFate.FUSED
    assert fates["/add"].where == FUSED
    assert fates["/relu2"].fate is NodeFate.COMPARED
    assert not done.findings


@pytest.mark.parametrize(
    "op", ["/conv1/relu1", FUSED, "/gap", "/fc", "TransData_l.ND", "Cast_x.float16"]
)
def test_layer_that_is_wrong_on_the_board_alone_is_named(
    bench: Bench, tmp_path: Path, op: str
) -> None:
    def spoil(array: Array) -> Array:
        spoiled: Array = array * np.float16(0.5) + np.float16(0.25)
        return spoiled

    done = bench.compared(dumps=bench.board.dump(tmp_path, {op: spoil}))
    (at,) = done.comparison.layers_off(LayerVerdict.BOARD)
    assert done.comparison.layers[at].op == op
    assert codes(done) == ["board-differs"]
    names = ", ".join(done.comparison.layers[at].nodes) or op
    assert done.comparison.findings[0].message.startswith(f"{names} (")


@pytest.mark.parametrize("op", ["", FUSED, "/conv1/relu1", "/soft"])
def test_layers_are_compared_by_statistics_alone(bench: Bench, tmp_path: Path, op: str) -> None:
    spoiled = {op: lambda array: array * 0.8}
    done = bench.compared(dumps=bench.board.dump(tmp_path, spoiled, statistics=True)).comparison
    states = {each.state for each in done.layers if each.nodes}
    assert LayerState.STATISTICS in states
    assert states <= {LayerState.STATISTICS, LayerState.UNREAD}
    assert (done.first.op if done.first is not None else "") == op
    assert len(done.findings) == bool(op)


def test_errors_of_later_layers_are_passed_on(bench: Bench, tmp_path: Path) -> None:
    later = {name: lambda array: array * 1.2 for name in (FUSED, "/gap", "/soft")}
    done = bench.compared(dumps=bench.board.dump(tmp_path, later)).comparison
    layers = {each.op: each for each in done.layers}
    assert done.first is not None
    assert done.first.op == FUSED
    root = layers["/gap"].root
    assert root is not None
    assert done.layers[root].op == FUSED


def test_dumps_alone_say_what_they_are_of(bench: Bench, tmp_path: Path) -> None:
    spoiled = {FUSED: lambda array: array * 2}
    done = bench.compared(dumps=bench.board.dump(tmp_path, spoiled), om_json=None).comparison
    assert done.first is not None
    assert done.first.op == FUSED
    fates = {each.name: each.fate for each in done.nodes}
    assert (fates["/conv2"], fates["/relu2"]) == (NodeFate.NOT_DUMPED, NodeFate.COMPARED)


def test_damaged_dumps_and_other_executions_are_noted(bench: Bench, tmp_path: Path) -> None:
    folder = bench.board.dump(tmp_path)
    bench.board.dump(tmp_path, execution=1)
    (file,) = tmp_path.rglob("0/MatMulV2.*")
    file.write_bytes(file.read_bytes()[:-40])
    done = bench.compared(dumps=folder)
    assert codes(done) == ["board-part-left-out", "board-dump-of-several-executions"]
    fates = {each.name: each for each in done.comparison.nodes}
    assert "damaged" in fates["/fc"].reason or fates["/fc"].fate is NodeFate.COMPARED


def test_reason_of_a_result_that_is_not_read_is_a_message_without_its_code() -> None:
    text = Text("it has dims that no tensor can have")
    assert unread_reason(UnreadTensorError(text)) == unread_reason(BAD_OPTION.error(text)) == text


def test_largest_differences_of_all_operands_reach_a_node() -> None:
    first, second = _Reached(0.5, 3, 0.1), _Reached(0.2, 4, 0.4)
    assert _worst([first, second]) == _Reached(0.5, 3, 0.4)
    assert _worst([]) == _Reached()


def test_times_meet_kernels_of_the_estimate(bench: Bench, tmp_path: Path) -> None:
    done = bench.compared(tables=(bench.board.table(tmp_path / "op_summary.csv", 40),))
    times = done.comparison.times
    assert times is not None
    assert not times.not_measured
    fused = next(each for each in times.kernels if each.board == (FUSED,))
    assert fused.nodes == ("/conv2", "/add", "/relu2")
    assert fused.measured == pytest.approx(40e-6)
    assert times.executions == 3
    assert times.fitted == len(bench.board.ops)
    assert done.factors is not None
    assert done.factors.fit.spread < done.factors.before
    assert codes(done) == ["board-times-beyond-estimate"]


@pytest.fixture(scope="module")
def kit(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kit") / "kit"
    path = folder.parent / "x.npy"
    np.save(path, bench.feeds["x"])
    words = ["--soc", SOC, "--no-unfused", "-i", f"x={path}", "-o", str(folder)]
    done = CliRunner().invoke(cli, ["board", "pack", str(bench.model), *words])
    assert not done.exit_code, done.output
    return folder


@pytest.fixture
def returned(bench: Bench, kit: Path, tmp_path: Path) -> Returned:
    return Returned(kit, tmp_path / "back", bench.board)


def shown(*words: object) -> tuple[int, dict[str, Any]]:
    """Run `board compare` as JSON; return status and document."""
    done = CliRunner().invoke(cli, ["board", "compare", *map(str, words), "--json"])
    return done.exit_code, json.loads(done.stdout)


def test_kit_and_results_are_compared_and_factors_saved(
    kit: Path, returned: Returned, tmp_path: Path
) -> None:
    factors = tmp_path / "factors.json"
    status, document = shown(kit, returned.packed(), "--save-factors", factors)
    assert status == 0
    assert load_fit(factors)[0] == SOC
    (done,) = document["comparisons"]
    assert {check["state"] for check in done["checks"]} == {"holds"}
    assert done["first_on_the_board"] is None
    assert done["outputs"][0]["between"]["distance"] == 0
    assert done["diff"]["score"] > 0.8
    page = tmp_path / "page.html"
    words = [
        "board",
        "compare",
        str(kit),
        str(returned.packed()),
        "--format",
        "html",
        "-o",
        str(page),
    ]
    text = CliRunner().invoke(cli, [*words, "--lang", "zh"])
    speak("en")
    assert text.exit_code == 0
    assert "仿真器" in text.output
    document = document_of(page.read_text(encoding="utf-8"))
    (one,) = document["models"]
    assert (document["lang"], one["path"], one["state"]) == ("zh", "force_fp16/s0", "compiles")
    assert one["compiled"]
    assert one["board"]["title"][1] == "force_fp16/s0：在所有已 dump 的层上板卡与仿真器一致"
    layers = next(table for table in one["board"]["tables"] if table["nodes"])
    assert "/relu2" in layers["nodes"]
    assert layers["numbers"] == [4, 5, 6]


def test_results_that_do_not_belong_together_are_said_so(kit: Path, returned: Returned) -> None:
    np.save(
        returned.folder / returned.variant / "dump" / "s0" / "0.npy", np.ones((1, 10), np.float32)
    )
    path = returned.folder / returned.variant / "plain" / "s0" / "run.json"
    run = json.loads(path.read_text()) | {"soc": "Ascend910B1", "fed": ["bb"], "om_sha256": "cc"}
    path.write_text(json.dumps(run))
    step = StepRecord("force_fp16/msprof/s0", "failed", message="no msprof")
    status, document = shown(kit, returned.packed((step,)))
    assert status == 4
    (done,) = document["comparisons"]
    assert [check["state"] for check in done["checks"]] == ["fails"] * 4 + ["holds"]
    assert "no msprof" in document["findings"][0]["message"]


def test_files_that_changed_on_the_way_are_named(kit: Path, returned: Returned) -> None:
    archive = returned.packed()
    path = returned.folder / returned.variant / "msprof" / "s0" / "tables" / "op_summary_1.csv"
    path.write_text(path.read_text() + "\n")
    _, document = shown(kit, returned.folder)
    assert "op_summary_1.csv" in document["findings"][0]["message"]
    whole = archive.read_bytes()
    archive.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(AtcError) as error, opened_archive(archive):
        pass
    assert error.value.diagnostics[0].code.name == "bad-results"


def hostile(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield archives that are refused, with a word of the message."""

    def link(file: zipfile.ZipFile) -> None:
        member = zipfile.ZipInfo("l")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(member, "/etc/passwd")

    def twice(file: zipfile.ZipFile) -> None:
        file.writestr("a", "x")
        file.writestr("a/b", "y")

    makers: dict[str, Callable[[zipfile.ZipFile], None]] = {
        "outside": lambda file: file.writestr("../evil", "x"),
        "outside the archive": lambda file: file.writestr("/evil", "x"),
        "is a link": link,
        "cannot be unpacked": twice,
    }
    for words, make in makers.items():
        path = folder / f"{len(words)}.zip"
        with zipfile.ZipFile(path, "w") as file:
            make(file)
        yield words, path
    bomb = folder / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a", bytes(1000))
    data = bytearray(bomb.read_bytes())
    at = data.index(b"PK\x01\x02") + 24
    data[at : at + 4] = (2000).to_bytes(4, "little")
    bomb.write_bytes(data)
    yield "archive", bomb


def test_hostile_archives_are_refused_and_nothing_is_written_outside(tmp_path: Path) -> None:
    for words, path in hostile(tmp_path):
        with pytest.raises(AtcError) as error, opened_archive(path):
            pass
        assert error.value.diagnostics[0].code.name == "bad-results", words
        assert words in error.value.diagnostics[0].message
    assert not (tmp_path.parent / "evil").exists()


def test_name_that_no_file_can_have_is_no_archive() -> None:
    with pytest.raises(AtcError, match="File name too long"), opened_archive(Path("x" * 300)):
        pass


def test_archive_that_grows_far_beyond_its_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "_BOMB_BYTES", 1 << 20)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("dump", bytes((1 << 20) + 1))
    with pytest.raises(AtcError) as error, opened_archive(path):
        pass
    assert (
        "its members claim 1048577 bytes, but the archive has "
        in error.value.diagnostics[0].message
    )


def test_damaged_file_of_an_archive_is_named_as_a_member_of_it(
    kit: Path, returned: Returned
) -> None:
    (dump,) = returned.folder.rglob("SoftmaxV2.*")
    dump.write_bytes(dump.read_bytes()[:-16])
    archive = returned.packed()
    _, document = shown(kit, archive)
    (finding,) = [
        each for each in document["comparisons"][0]["findings"] if each["code"] == "ATC5086"
    ]
    assert finding["place"]["file"] == str(archive)
    assert finding["place"]["field"] == dump.relative_to(returned.folder).as_posix()
    (table,) = returned.folder.rglob("op_summary*")
    table.write_text("Op Name,OP Type\nsoft,SoftmaxV2\n")
    _, document = shown(kit, returned.packed())
    (left_out,) = document["findings"]
    assert left_out["name"] == "board-part-left-out"
    assert "no column" in left_out["message"]
    assert left_out["place"]["file"] == str(archive)
    assert left_out["place"]["field"] == f"{table.relative_to(returned.folder).as_posix()}:1"


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("7.0.RC1", "7"),
        ("8.3.RC1", "8"),
        ("8.5.0", "8.5"),
        ("9.0.1", "9.0"),
        ("9.2.0-beta.1", "9.2"),
        ("9.10.0", "9.10"),
        ("unknown", "unknown"),
    ],
)
def test_versions_of_hosts_are_releases_that_cann_takes(version: str, release: str) -> None:
    assert release_of(version) == release
