"""Data between gears: padded to the next gear where a trial proves that harmless, else refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import onnxruntime
import pytest
from click.testing import CliRunner

import atc_py
from atc_py.adapters.ais_bench.interface import InferSession
from atc_py.adapters.session.errors import SessionWarning
from atc_py.cli.main import cli
from atc_py.diag import AtcError
from atc_py.diag.codes import (
    BAD_OPTION,
    BAD_RUN_INPUT,
    GEARS_NOT_PADDED,
    NO_SUCH_GEAR,
    OM_CONTENT,
    OPTIONS_EXCLUDE,
    SIZE_BETWEEN_GEARS,
)
from atc_py.options.auto_gears import DimSum, Padding, parse_auto_gears, parse_dim
from atc_py.package.reader import open_model
from tests.gears.decoder import decode, decoder, first_feeds
from tests.hostile.test_gears import changed

Array = npt.NDArray[Any]


def original(source: Path, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """Return the outputs of onnxruntime."""
    session = onnxruntime.InferenceSession(source)
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, dict(feeds)), strict=True))


def save(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays by name."""
    np.savez(path, **arrays)


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a decoder, beside which is the offline model with caches of 8 and 32."""
    source = decoder(tmp_path_factory.mktemp("decoder") / "net.onnx")
    atc_py.convert(source, source.with_suffix(".om"), auto_gears="8,32")
    return source


def written(folder: Path, text: str) -> Path:
    """Write a model of opset 13."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 13]> {text}')
    onnx.save(model, folder / "net.onnx")
    return folder / "net.onnx"


def test_a_growing_cache_gives_the_words_of_onnxruntime(tmp_path: Path) -> None:
    source = decoder(tmp_path / "net.onnx")
    reference = onnxruntime.InferenceSession(source)
    names = [each.name for each in reference.get_outputs()]
    with atc_py.InferenceSession(source, auto_gears="16~64") as session:
        found = decode(lambda feeds: dict(zip(names, session.run(None, feeds), strict=True)), 64)
        assert len(session.compilations) == len((16, 32, 64))
    wanted = decode(
        lambda feeds: dict(zip(names, reference.run(None, dict(feeds)), strict=True)), 64
    )
    assert found == wanted
    assert len(set(wanted)) > 5


@pytest.mark.parametrize("length", [0, 8, 20])
def test_offline_models_pad_a_cache(converted: Path, length: int) -> None:
    feeds = first_feeds(length)
    wanted = original(converted, feeds)
    with atc_py.load(converted.with_suffix(".om")) as model:
        found: Mapping[str, Array] = model.run(feeds)
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, atol=0.02)


def test_ais_bench_pads_a_cache(converted: Path) -> None:
    feeds = first_feeds(20)
    session = InferSession(0, str(converted.with_suffix(".om")))
    rows = [feeds[each.name] for each in session.get_inputs()]
    found = session.infer(rows, mode="dymdims")
    session.free_resource()
    for array, wanted in zip(found, original(converted, feeds).values(), strict=True):
        np.testing.assert_allclose(array, wanted, atol=0.02)


def test_the_command_run_pads_and_compares(converted: Path, tmp_path: Path) -> None:
    feeds = first_feeds(5)
    save(tmp_path / "feeds.npz", feeds)
    save(tmp_path / "wanted.npz", original(converted, feeds))
    om = str(converted.with_suffix(".om"))
    given = ["--input", str(tmp_path / "feeds.npz"), "--expect", str(tmp_path / "wanted.npz")]
    done = CliRunner().invoke(cli, ["run", om, *given])
    assert done.exit_code == 0, done.output


def test_data_that_contradict_or_exceed_are_refused(converted: Path) -> None:
    with atc_py.load(converted.with_suffix(".om")) as model:
        with pytest.raises(AtcError) as caught:
            model.run({**first_feeds(20), "mask": np.ones((1, 25), np.int64)})
        assert caught.value.diagnostics[0].code == BAD_RUN_INPUT
        with pytest.raises(AtcError) as caught:
            model.run(first_feeds(33))
        assert caught.value.diagnostics[0].code == NO_SUCH_GEAR


def test_counted_positions_are_not_padded(tmp_path: Path) -> None:
    source = decoder(tmp_path / "net.onnx", counted=True)
    with pytest.warns(SessionWarning, match=GEARS_NOT_PADDED.id):
        session = atc_py.InferenceSession(source, auto_gears="8,16")
    with pytest.raises(AtcError) as caught:
        session.run(None, first_feeds(5, counted=True))
    (found,) = caught.value.diagnostics
    assert found.code == SIZE_BETWEEN_GEARS
    assert "past = 5" in found.message
    feeds = first_feeds(8, counted=True)
    np.testing.assert_allclose(
        session.run(["scores"], feeds)[0], original(source, feeds)["scores"], atol=0.02
    )


@pytest.mark.parametrize(
    ("body", "leaks"),
    [
        ("y = Relu (x)", ()),
        ("y = ReduceMean <axes = [1], keepdims = 0> (x)", ("",)),
        ("y = ReduceMax <axes = [1], keepdims = 0> (x)", ("x",)),
    ],
)
def test_what_shows_of_padding_is_named(tmp_path: Path, body: str, leaks: tuple[str, ...]) -> None:
    source = written(
        tmp_path, f"net (float[1,s,4] x) => (y) {{ r = Relu (x) {body.replace('(x)', '(r)')} }}"
    )
    done = atc_py.convert(source, tmp_path / "net.om", auto_gears="4~16")
    package = open_model(tmp_path / "net.om")
    padding = package.gears.padding if package.gears is not None else None
    package.close()
    assert padding is not None
    assert padding.leaks == leaks
    assert [each.code for each in done.warnings] == [GEARS_NOT_PADDED] * bool(leaks)


def test_sides_and_sums_are_padded_together() -> None:
    dims = {"mask": (parse_dim("past + new + 1"),)}
    padding = Padding(dims, {}, front=("past",))
    assert padding.added(dims["mask"], {"past": 3, "new": 2}) == [(3, 2)]
    assert parse_dim("a*b + 1") == DimSum(("a*b + 1",))


def test_options_say_numbers_for_names() -> None:
    auto = parse_auto_gears("past=3~20; batch=4,1; total = past+1", {})
    assert auto.numbers == {"past": (4, 8, 16, 20), "batch": (1, 4)}
    assert auto.sums == {"total": DimSum(("past",), 1)}
    assert parse_auto_gears("1~8", {}).numbers == {"": (1, 2, 4, 8)}


@pytest.mark.parametrize("text", ["x", "a=0~4", "a=5~4", "a=1;a=2", "1~99999999999", "4"])
def test_texts_without_meaning_are_refused(tmp_path: Path, text: str) -> None:
    source = written(tmp_path, "net (float[1,s,4] x) => (y) { y = Relu (x) }")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(source, tmp_path / "net.om", auto_gears=text)
    assert caught.value.diagnostics[0].code == BAD_OPTION


def test_gears_of_a_model_without_open_dims_are_refused_as_such(tmp_path: Path) -> None:
    source = written(tmp_path, "net (float[2,3] x) => (y) { y = Relu (x) }")
    for text in ("1~4", "batch=1~4"):
        with pytest.raises(AtcError, match="gears need an input with an open dim"):
            atc_py.convert(source, tmp_path / "net.om", auto_gears=text)


def test_names_without_numbers_are_listed_with_a_line(tmp_path: Path) -> None:
    source = written(tmp_path, "net (float[b,s,4] x) => (y) { y = Relu (x) }")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(source, tmp_path / "net.om", auto_gears="1~8")
    assert '--auto-gears "b=1;s=1~64"' in (caught.value.diagnostics[0].help or "")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(
            source, tmp_path / "net.om", auto_gears="1~8", batch_sizes="1,2", input_shape="x:-1,2,4"
        )
    assert caught.value.diagnostics[0].code == OPTIONS_EXCLUDE
    done = atc_py.convert(
        source, tmp_path / "net.om", auto_gears="1~8", input_shape={"x": (2, -1, 4)}
    )
    assert [each.values for each in done.gears] == [(1,), (2,), (4,), (8,)]


def test_more_gears_than_a_list_could_hold_are_refused_at_once(tmp_path: Path) -> None:
    dims = [f"d{at}" for at in range(12)]
    text = f'<ir_version: 8, opset_import: ["" : 13]> net (float[{",".join(dims)}] x) => (y) {{ y = Relu (x) }}'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "net.onnx")
    with pytest.raises(AtcError, match=f"at most 100 gears, found {7**12}"):
        atc_py.convert(tmp_path / "net.onnx", auto_gears=";".join(f"{d}=1~64" for d in dims))


def test_check_shows_a_line_for_several_sizes(tmp_path: Path) -> None:
    text = "net (float[1,s,4] x, float[1,t,4] z) => (y) { a = Shape (z) y = Expand (x, a) }"
    source = written(tmp_path, text.replace("[1,s,4] x", "[1,1,4] x"))
    assert '--auto-gears "t=16~64"' in CliRunner().invoke(cli, ["check", str(source)]).output


@pytest.mark.parametrize(
    "change",
    [
        lambda padding: padding["outputs"].pop("scores"),
        lambda padding: padding["outputs"].update(scores=["1", "past", "50"]),
        lambda padding: padding["inputs"].update(mask=["1", "past + 2"]),
        lambda padding: padding["front"].append("other"),
    ],
)
def test_names_that_contradict_the_gears_are_refused(
    converted: Path, tmp_path: Path, change: Any
) -> None:
    data = converted.with_suffix(".om").read_bytes()
    path = tmp_path / "net.om"
    path.write_bytes(changed(data, lambda document: change(document["gears"]["padding"])))
    with pytest.raises(AtcError) as caught:
        open_model(path)
    assert caught.value.diagnostics[0].code == OM_CONTENT
