"""Comparisons over samples that are pictures: files, bytes, batches, dynamic settings, bad ones."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import (
    BAD_DATA_FILE,
    BAD_PICTURE,
    BAD_RUN_INPUT,
    BAD_SAMPLE,
    MISSING_RUN_INPUT,
    NO_SAMPLES,
)
from atc_py.diag.diagnostic import Code
from atc_py.options.aipp import AippSettings, parameter_bytes
from atc_py.results.layer_comparison import LayerComparison
from tests.aipp_graph.networks import DYNAMIC, NV12, RGB, config, network
from tests.cli.conftest import Result
from tests.compare.test_many_samples import peaks_of

Array = NDArray[Any]


def pixels(count: int, height: int = 8, width: int = 12) -> Array:
    """Return random pictures in RGB, [count, height, width, 3]."""
    random = np.random.default_rng(4)
    return random.integers(0, 256, (count, height, width, 3)).astype(np.uint8)


def saved(folder: Path, pictures: Iterable[Array], suffix: str = ".npy") -> Path:
    """Save pictures in a folder, as arrays or as files that Pillow writes."""
    folder.mkdir()
    for at, each in enumerate(pictures):
        if suffix == ".npy":
            np.save(folder / f"{at}.npy", each)
        else:
            pytest.importorskip("PIL.Image").fromarray(each).save(folder / f"{at}{suffix}")
    return folder


def figures(done: LayerComparison) -> list[Any]:
    """Return the figures of all layers."""
    return [each.figures for each in done.layers]


@pytest.mark.parametrize("suffix", [".npy", ".png"])
def test_pictures_are_what_aipp_takes(suffix: str, tmp_path: Path) -> None:
    model, file = network(tmp_path / "m.onnx"), config(tmp_path, RGB)
    pictures = pixels(3)
    folder = saved(tmp_path / "pictures", pictures, suffix)
    done = atc_py.compare_model(model, aipp=file, samples=folder)
    assert done.samples == 3
    assert done.layers[0].op == "Aipp"
    spread = done.spreads[done.outputs["y"]]
    assert spread.samples == 3
    assert spread.snr.sample in {str(folder / f"{at}{suffix}") for at in range(3)}
    bytes_alone = [{"x0": each[None]} for each in pictures]
    assert figures(done) == figures(atc_py.compare_model(model, aipp=file, samples=bytes_alone))


def test_pictures_are_encoded_in_the_format_of_the_input(tmp_path: Path) -> None:
    model, file = network(tmp_path / "m.onnx"), config(tmp_path, NV12)
    folder = saved(tmp_path / "pictures", pixels(2), ".png")
    done = atc_py.compare_model(model, aipp=file, samples=folder)
    alone = [atc_py.compare_model(model, aipp=file, inputs=[f"{folder}/{at}.png"]) for at in (0, 1)]
    worst = min(each.layers[each.outputs["y"]].judged.snr for each in alone)
    assert done.spreads[done.outputs["y"]].snr.worst == worst


@pytest.mark.parametrize("form", ["rows", "arrays in files", "raw files"])
def test_bytes_of_pictures_are_samples(form: str, tmp_path: Path) -> None:
    model, file = network(tmp_path / "m.onnx"), config(tmp_path, NV12)
    data = np.random.default_rng(2).integers(0, 256, (3, 1, 12, 12, 1)).astype(np.uint8)
    samples = tmp_path / "samples"
    samples.mkdir()
    if form == "rows":
        samples /= "all.npz"
        np.savez(samples, x0=data[:, 0])
    for at, each in enumerate(data):
        if form == "arrays in files":
            np.save(samples / f"{at}.npy", each)
        elif form == "raw files":
            each.tofile(samples / f"{at}.bin")
    done = atc_py.compare_model(model, aipp=file, samples=samples)
    same = atc_py.compare_model(model, aipp=file, samples=[{"x0": each} for each in data])
    assert figures(done) == figures(same)


def test_pictures_of_a_batch_go_together(tmp_path: Path) -> None:
    model, file = network(tmp_path / "m.onnx", [(2, 3, 8, 12)]), config(tmp_path, RGB)
    pictures = pixels(4)
    done = atc_py.compare_model(model, aipp=file, samples=saved(tmp_path / "p", pictures))
    assert done.samples == 2
    pairs = [{"x0": pictures[at : at + 2]} for at in (0, 2)]
    assert figures(done) == figures(atc_py.compare_model(model, aipp=file, samples=pairs))
    with pytest.raises(AtcError, match="3 pictures, the model takes 2") as caught:
        atc_py.compare_model(model, aipp=file, samples=saved(tmp_path / "q", pictures[:3]))
    assert caught.value.diagnostics[0].code is NO_SAMPLES
    each = tmp_path / "folders"
    for at in (0, 2):
        each.mkdir(exist_ok=True)
        saved(each / str(at), pictures[at : at + 2])
    assert figures(done) == figures(atc_py.compare_model(model, aipp=file, samples=each))
    (each / "0" / "1.npy").unlink()
    with pytest.raises(AtcError, match="0 has 1 pictures for 'x0' in one sample, which takes 2"):
        atc_py.compare_model(model, aipp=file, samples=each)


def test_two_inputs_of_pictures_and_one_that_is_given(tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [(1, 3, 8, 12), (1, 3, 8, 12)])
    second = RGB + "  related_input_rank: 1\n"
    file, first = config(tmp_path, RGB, second), saved(tmp_path / "a", pixels(3))
    other = saved(tmp_path / "b", pixels(3)[::-1])
    done = atc_py.compare_model(model, aipp=file, samples=[f"x0={first}", f"x1={other}"])
    assert done.samples == 3
    given = {"x1": pixels(1)}
    done = atc_py.compare_model(model, aipp=file, samples=first, inputs=given)
    assert done.samples == 3
    with pytest.raises(AtcError, match="given without a name") as caught:
        atc_py.compare_model(model, aipp=file, samples=first)
    assert caught.value.diagnostics[0].code is BAD_RUN_INPUT
    few = saved(tmp_path / "c", pixels(2))
    with pytest.raises(AtcError, match=r"different numbers of samples: .*a: 3, .*c: 2"):
        atc_py.compare_model(model, aipp=file, samples=[f"x0={first}", f"x1={few}"])
    samples = [f"x0={first}", f"x1={other}"]
    with pytest.raises(AtcError, match="'x1', which --input gives") as caught:
        atc_py.compare_model(model, aipp=file, samples=samples, inputs=given)
    assert caught.value.diagnostics[0].code is BAD_SAMPLE


def test_pictures_for_dynamic_settings(tmp_path: Path) -> None:
    model, folder = network(tmp_path / "m.onnx"), saved(tmp_path / "p", pixels(3))
    dynamic = config(tmp_path, DYNAMIC)
    whole = atc_py.compare_model(model, aipp=dynamic, samples=folder)
    assert whole.samples == 3
    each = [AippSettings(aipp_mode="dynamic", src_image_size_w=12, src_image_size_h=8)]
    settings = {"ascend_dynamic_aipp_data": np.frombuffer(parameter_bytes(each), np.uint8)}
    files = atc_py.compare_model(model, aipp=dynamic, samples=folder, inputs=settings)
    short = pixels(3).reshape(3, -1)
    np.save(tmp_path / "bytes.npy", short)
    rows = atc_py.compare_model(
        model, aipp=dynamic, samples=tmp_path / "bytes.npy", inputs=settings
    )
    assert (rows.samples, files.samples) == (3, 3)
    small = config(tmp_path, "  aipp_mode: dynamic\n  max_src_image_size: 144\n")
    with pytest.raises(AtcError, match="settings of dynamic AIPP") as caught:
        atc_py.compare_model(model, aipp=small, samples=folder)
    assert caught.value.diagnostics[0].code is MISSING_RUN_INPUT


def _empty(folder: Path) -> None:
    for each in folder.iterdir():
        each.unlink()


def _other_size(folder: Path) -> None:
    np.save(folder / "1.npy", pixels(1, 10)[0])


def _broken(folder: Path) -> None:
    (folder / "1.npy").write_bytes(b"\x93NUMPY\x01\x00v")


def _no_picture(folder: Path) -> None:
    (folder / "1.png").write_bytes(b"nothing")


def _text_file(folder: Path) -> None:
    (folder / "1.txt").write_text("cat")


@pytest.mark.parametrize(
    ("spoil", "code", "named"),
    [
        (_empty, NO_SAMPLES, "pictures has no samples"),
        (_other_size, BAD_PICTURE, "1.npy has 10 rows of 12 pixels, but AIPP takes 8 rows"),
        (_broken, BAD_DATA_FILE, "1.npy"),
        (_no_picture, BAD_PICTURE, "1.png is not a picture"),
        (_text_file, BAD_RUN_INPUT, "1.txt"),
    ],
)
def test_bad_pictures_are_named_and_nothing_is_written(
    spoil: Callable[[Path], None],
    code: Code,
    named: str,
    atc: Callable[..., Result],
    tmp_path: Path,
) -> None:
    pytest.importorskip("PIL.Image")
    model, file = network(tmp_path / "m.onnx"), config(tmp_path, RGB)
    folder = saved(tmp_path / "pictures", pixels(3))
    spoil(folder)
    words = ("--aipp", file, "--samples", folder, "--format", "html", "-o", "page.html")
    done = atc("compare", model, *words)
    assert done.status == code.exit
    assert code.id in done.err
    assert named in done.err
    assert not (tmp_path / "page.html").exists()


def test_memory_does_not_grow_with_pictures(tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [(1, 3, 64, 96)])
    file = config(tmp_path, RGB)

    def stored(count: int) -> Path:
        return saved(tmp_path / f"p{count}", pixels(count, 64, 96))

    few, many = peaks_of(
        lambda samples: atc_py.compare_model(model, aipp=file, samples=samples), stored, (10, 60)
    )
    assert many < few + 10 * 64 * 96 * 3


def test_pictures_beside_a_given_picture_judge_a_suggestion(
    atc: Callable[..., Result], tmp_path: Path
) -> None:
    pytest.importorskip("PIL.Image")
    model = network(tmp_path / "m.onnx", [(1, 3, 8, 12), (1, 3, 8, 12)])
    file = config(tmp_path, RGB, RGB + "  related_input_rank: 1\n")
    folder, beside = saved(tmp_path / "a", pixels(9)), saved(tmp_path / "b", pixels(1), ".png")
    words = ("--aipp", file, "-i", f"x1={beside / '0.png'}", "--samples", folder)
    done = atc("compare", model, *words, "--device", "ort", "--suggest", "keep.txt", "--json")
    assert done.status == 0, done.err
    assert (done.json["samples"], done.json["suggestion"]["samples"]) == (9, 9)
