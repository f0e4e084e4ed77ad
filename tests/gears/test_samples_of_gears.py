"""Comparisons of gears over samples: each gear takes those that fit its dims."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.compare.gears import GearComparisons, compare_gears
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_PICTURE, BAD_RUN_INPUT, BAD_SAMPLE, NO_SAMPLES, NO_SUCH_GEAR
from atc_py.options.compile_options import select_gears
from atc_py.options.gears import Gears
from atc_py.options.keywords import ConvertKeywords
from atc_py.pipeline.running import feeds
from atc_py.pipeline.running.array_files import read_npy
from tests.aipp_graph.networks import RGB, config, network
from tests.aipp_graph.test_samples_of_pictures import figures, pixels, saved
from tests.cli.conftest import Result
from tests.cli.conftest import atc as atc
from tests.gears.models import image_model, two_inputs

Array = NDArray[Any]


IMAGES = ConvertKeywords(image_sizes="16,16;32,16")
OPEN = "x:1,3,-1,-1"
SIZES = {"a": (16, 16), "b": (32, 16), "c": (16, 16)}


def gears_of(lists: ConvertKeywords, shapes: str) -> Gears:
    """Return the gears that lists give."""
    found = select_gears({**lists, "input_shape": shapes})
    assert found is not None
    return found


def compared(model: Path, samples: object, **options: Any) -> GearComparisons:
    """Return the comparison of the gears of two image sizes."""
    return compare_gears(model, gears_of(IMAGES, OPEN), samples=samples, **options)


def drawn(*dims: int) -> Array:
    return np.random.default_rng(6).standard_normal(dims).astype(np.float32)


def mixed(folder: Path, sizes: dict[str, tuple[int, int]]) -> Path:
    """Save a sample of each size."""
    folder.mkdir()
    for name, size in sizes.items():
        np.save(folder / f"{name}.npy", drawn(1, 3, *size))
    return folder


def test_each_gear_takes_the_files_of_its_shapes(tmp_path: Path) -> None:
    model, folder = image_model(tmp_path / "m.onnx"), mixed(tmp_path / "samples", SIZES)
    done = compared(model, folder)
    assert done.left_out == ()
    assert [each.done and each.done.samples for each in done.gears] == [2, 1]
    for each, names in zip(done.gears, ("ac", "b"), strict=True):
        listed = [{"x": np.load(folder / f"{name}.npy")} for name in names]
        alone = atc_py.compare_model(model, input_shape=each.shapes, samples=listed)
        assert each.done is not None
        assert figures(each.done) == figures(alone)


def test_arrays_of_a_program_go_to_their_gears(tmp_path: Path) -> None:
    model = image_model(tmp_path / "m.onnx")
    listed = [{"x": drawn(1, 3, *size)} for size in SIZES.values()]
    done = compared(model, listed)
    assert [each.done and each.done.samples for each in done.gears] == [2, 1]


def test_rows_are_cut_into_the_batches_of_each_gear(tmp_path: Path) -> None:
    model, file = image_model(tmp_path / "m.onnx"), tmp_path / "all.npy"
    np.save(file, drawn(6, 3, 16, 16))
    gears = gears_of(ConvertKeywords(batch_sizes="1,2,4"), "x:-1,3,16,16")
    done = compare_gears(model, gears, samples=file)
    assert [each.done and each.done.samples for each in done.gears] == [6, 3, None]
    (found,) = done.gears[2].not_compared
    assert found.code is NO_SAMPLES
    assert "6 rows for 'x', which takes 4 at a time" in found.message
    np.save(file, drawn(6, 3, 15, 16))
    with pytest.raises(AtcError, match=r"all\.npy has the shape") as caught:
        compare_gears(model, gears, samples=file)
    assert caught.value.diagnostics[0].code is BAD_SAMPLE
    np.savez(tmp_path / "other.npz", a=drawn(6, 3, 16, 16), b=drawn(6, 3, 16, 16))
    with pytest.raises(AtcError, match=r"other\.npz has"):
        compare_gears(model, gears, samples=tmp_path / "other.npz")


def test_inputs_that_are_given_are_those_of_all_gears(tmp_path: Path) -> None:
    model = two_inputs(tmp_path / "m.onnx")
    gears = gears_of(ConvertKeywords(dims="2,3,3;1,3,3"), "a:-1,4;b:-1,-1;s:")
    given = {"b": drawn(3, 3), "s": np.float32(2)}
    listed = [{"a": drawn(rows, 4)} for rows in (1, 2, 2)]
    done = compare_gears(model, gears, samples=listed, inputs=given)
    assert [each.done and each.done.samples for each in done.gears] == [2, 1]


def test_gear_that_no_sample_fits_says_so(atc: Callable[..., Result], tmp_path: Path) -> None:
    model = image_model(tmp_path / "m.onnx")
    folder = mixed(tmp_path / "samples", {"a": (16, 16)})
    words = ("compare", model, "--input-shape", OPEN, "--image-sizes", "16,16;32,16")
    done = atc(*words, "--samples", folder)
    assert done.status == NO_SAMPLES.exit
    assert done.out.count("Gear ") == 2
    assert "Worst" in done.out
    reason = "no sample fits the shapes x:1,3,32,16"
    assert f"not compared: {reason}" in done.out
    assert reason in done.err
    found = json.loads(atc(*words, "--samples", folder, "--json").out)
    assert [each["compared"] for each in found["gears"]] == [True, False]
    assert [each["code"] for each in found["diagnostics"]] == [NO_SAMPLES.id]
    page = tmp_path / "page.html"
    assert atc(*words, "--samples", folder, "--format", "html", "-o", page).status == 2
    assert reason in page.read_text("utf-8")


def test_samples_that_fit_no_gear_are_named(atc: Callable[..., Result], tmp_path: Path) -> None:
    model = image_model(tmp_path / "m.onnx")
    folder = mixed(tmp_path / "samples", {**SIZES, "stray": (20, 20)})
    words = ("--input-shape", OPEN, "--image-sizes", "16,16;32,16", "--samples", folder)
    done = atc("compare", model, *words)
    assert done.status == NO_SUCH_GEAR.exit
    assert "samples fit no gear" in done.err
    assert "stray.npy" in done.err
    assert "a.npy" not in done.err.replace("stray.npy", "")
    done = atc("report", model, *words, "-o", "page.html")
    assert done.status == 4
    assert "stray.npy" in done.err
    only = mixed(tmp_path / "only", {"stray": (20, 20)})
    with pytest.raises(AtcError, match="no sample fits the shapes") as caught:
        compared(model, only)
    assert caught.value.diagnostics[0].code is NO_SAMPLES
    assert atc("report", model, *words[:-1], only, "-o", "none.html").status == NO_SAMPLES.exit
    assert not (tmp_path / "none.html").exists()


def test_broken_file_and_one_for_no_input_are_refused(tmp_path: Path) -> None:
    model, folder = image_model(tmp_path / "m.onnx"), mixed(tmp_path / "samples", SIZES)
    (folder / "b.npy").write_bytes((folder / "b.npy").read_bytes()[:-4])
    with pytest.raises(AtcError, match=r"b\.npy") as caught:
        compared(model, folder)
    assert len(caught.value.diagnostics) == 1  # no word of a gear that does not compile
    np.savez(folder / "b.npz", z=drawn(1, 3, 16, 16), y=drawn(1))
    (folder / "b.npy").unlink()
    with pytest.raises(AtcError, match=r"b\.npz has arrays for names") as caught:
        compared(model, folder)
    assert caught.value.diagnostics[0].code is BAD_RUN_INPUT


def test_raw_files_choose_their_gear_by_size(tmp_path: Path) -> None:
    model, folder = image_model(tmp_path / "m.onnx"), tmp_path / "samples"
    folder.mkdir()
    drawn(1, 3, 16, 16).tofile(folder / "a.bin")
    drawn(1, 3, 32, 16).tofile(folder / "b.bin")
    done = compared(model, folder)
    assert [each.done and each.done.samples for each in done.gears] == [1, 1]
    (folder / "c.bin").write_bytes(b"abc")
    with pytest.raises(AtcError, match=r"c\.bin, which is read as raw bytes, has 3") as caught:
        compared(model, folder)
    assert caught.value.diagnostics[0].code is NO_SUCH_GEAR


def pictures_of(sizes: Sequence[tuple[int, int]]) -> list[Array]:
    return [pixels(1, *size)[0] for size in sizes]


def test_pictures_go_to_the_gear_of_their_size(tmp_path: Path) -> None:
    model, file = network(tmp_path / "m.onnx", [(1, 3, "h", "w")]), config(tmp_path, RGB)
    gears = gears_of(ConvertKeywords(image_sizes="8,12;16,10"), "x0:1,3,-1,-1")
    folder = saved(tmp_path / "p", pictures_of([(8, 12), (16, 10), (8, 12), (9, 9)]))
    done = compare_gears(model, gears, samples=folder, aipp=file)
    assert [each.done and each.done.samples for each in done.gears] == [2, 1]
    (found,) = done.left_out
    assert found.code is NO_SUCH_GEAR
    assert "3.npy" in found.message
    np.save(tmp_path / "rows.npy", pixels(3, 16, 10))
    done = compare_gears(model, gears, samples=tmp_path / "rows.npy", aipp=file)
    assert [each.done and each.done.samples for each in done.gears] == [None, 3]
    pixels(1, 16, 10).tofile(folder / "5.bin")
    done = compare_gears(model, gears, samples=folder, aipp=file)
    assert [each.done and each.done.samples for each in done.gears] == [2, 2]
    (folder / "4.png").write_bytes(b"nothing")
    pytest.importorskip("PIL.Image")
    with pytest.raises(AtcError, match=r"4\.png is not a picture") as caught:
        compare_gears(model, gears, samples=folder, aipp=file)
    assert caught.value.diagnostics[0].code is BAD_PICTURE


def test_pictures_fill_the_batch_of_each_gear(tmp_path: Path) -> None:
    model, file = network(tmp_path / "m.onnx", [("n", 3, 8, 12)]), config(tmp_path, RGB)
    gears = gears_of(ConvertKeywords(batch_sizes="1,2,3"), "x0:-1,3,8,12")
    done = compare_gears(model, gears, samples=saved(tmp_path / "p", [*pixels(4)]), aipp=file)
    assert [each.done and each.done.samples for each in done.gears] == [4, 2, None]
    assert "4 pictures, the model takes 3" in done.gears[2].not_compared[0].message


def test_page_has_each_gear(atc: Callable[..., Result], tmp_path: Path) -> None:
    model, folder = image_model(tmp_path / "m.onnx"), mixed(tmp_path / "samples", SIZES)
    words = ("--input-shape", OPEN, "--image-sizes", "16,16;32,16", "--samples", folder)
    done = atc("compare", model, *words, "--format", "html", "-o", "page.html")
    assert (done.status, done.out.count("Gear ")) == (0, 2)
    text = (tmp_path / "page.html").read_text("utf-8")
    assert '"gear":"16,16"' in text
    assert '"gear":"32,16"' in text
    assert text.count('"spreads":{') == 1  # the other gear has one sample
    assert atc("compare", model, *words, "--format", "html").out.startswith("<!DOCTYPE html>")


def test_few_samples_of_gears_are_in_memory_at_a_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = image_model(tmp_path / "m.onnx")
    held: list[int] = []
    arrays: WeakValueDictionary[int, Array] = WeakValueDictionary()

    def tracked(*given: Any) -> Array:
        found: Array = read_npy(*given)
        arrays[len(held)] = found
        held.append(len(arrays))
        return found

    monkeypatch.setattr(feeds, "read_npy", tracked)
    sizes = {str(at): (16, 16) if at % 2 else (32, 16) for at in range(20)}
    done = compared(model, mixed(tmp_path / "samples", sizes))
    assert [each.done and each.done.samples for each in done.gears] == [10, 10]
    assert len(held) >= 2 * 20 + 20  # each is looked at for both gears, and read for its own
    assert max(held) <= 4
