"""`compare --samples` with AIPP: folders of pictures, their bytes, and settings of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_OPTION, BAD_PICTURE, MISSING_RUN_INPUT, NO_SAMPLES
from tests.aipp_graph.networks import DYNAMIC, RGB, config, network

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from atc_py.diag.diagnostic import Code

PIXELS: NDArray[Any] = np.random.default_rng(1).integers(0, 256, (6, 8, 12, 3)).astype(np.uint8)
BOTH = [RGB + f"  related_input_rank: {at}\n" for at in range(2)]
"""Configurations of two inputs."""


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Return a folder with the pixels as pictures."""
    images = pytest.importorskip("PIL.Image")
    folder = tmp_path / "pictures"
    folder.mkdir()
    for at, each in enumerate(PIXELS):
        images.fromarray(each).save(folder / f"p{at}.png")
    return folder


@pytest.mark.parametrize("batch", [1, 2])
def test_folder_of_pictures_is_their_bytes(batch: int, pictures: Path, tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [(batch, 3, 8, 12)])
    given: dict[str, Any] = {"aipp": config(tmp_path, RGB)}
    done = atc_py.compare_model(model, samples=pictures, **given)
    rows = PIXELS.reshape(-1, batch, 8, 12, 3)
    arrays = atc_py.compare_model(model, samples=[{"x0": each} for each in rows], **given)
    np.save(tmp_path / "all.npy", PIXELS)
    stacked = atc_py.compare_model(model, samples=tmp_path / "all.npy", **given)
    assert done.samples == len(rows)
    for other in (arrays, stacked):
        assert [each.judged for each in other.layers] == [each.judged for each in done.layers]
    assert done.spreads[done.outputs["y"]].distance.sample.startswith(str(pictures))
    single = atc_py.compare_model(model, inputs={"x0": rows[0]}, **given)
    assert single.layers[0].op == done.layers[0].op == "Aipp"


def test_settings_hold_for_all_pictures(pictures: Path, tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx")
    size = "  src_image_size_w: 12\n  src_image_size_h: 8\n"
    run = config(tmp_path, RGB.replace("static", "dynamic") + size).rename(tmp_path / "run.cfg")
    given: dict[str, Any] = {"aipp": config(tmp_path, DYNAMIC)}
    done = atc_py.compare_model(model, samples=pictures, aipp_settings=run, **given)
    assert (done.samples, done.first_failing) == (6, None)
    with pytest.raises(AtcError) as caught:
        atc_py.compare_model(model, samples=pictures, **given)
    assert caught.value.diagnostics[0].code is MISSING_RUN_INPUT


def test_pictures_beside_an_input_of_one_file(pictures: Path, tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [(1, 3, 8, 12), (1, 3, 8, 12)])
    given: dict[str, Any] = {"aipp": config(tmp_path, *BOTH)}
    other = PIXELS[0]
    np.save(tmp_path / "x1.npy", other[None])
    files = atc_py.compare_model(
        model, samples=[f"x0={pictures}"], inputs=[f"x1={tmp_path / 'x1.npy'}"], **given
    )
    arrays = [{"x0": each[None], "x1": other[None]} for each in PIXELS]
    wanted = atc_py.compare_model(model, samples=arrays, **given)
    assert [each.judged for each in files.layers] == [each.judged for each in wanted.layers]


def spoil(folder: Path, fault: str) -> None:
    """Change a folder of six pictures."""
    if fault == "text":
        (folder / "p2.txt").write_text("no picture")
    elif fault == "broken":
        (folder / "p3.png").write_bytes((folder / "p3.png").read_bytes()[:60])
    elif fault == "small":
        import PIL.Image

        PIL.Image.fromarray(PIXELS[0, :4]).save(folder / "p4.png")
    elif fault == "odd":
        (folder / "p5.png").unlink()
    else:
        for each in folder.iterdir():
            each.unlink()


@pytest.mark.parametrize(
    ("fault", "code", "text"),
    [
        ("text", NO_SAMPLES, "p2.txt, which is none"),
        ("broken", BAD_PICTURE, "p3.png"),
        ("small", BAD_PICTURE, "p4.png has 4 rows of 12 pixels"),
        ("odd", NO_SAMPLES, "has 5 pictures, the model takes 2 at a time"),
        ("empty", NO_SAMPLES, "has no samples"),
    ],
)
def test_faults_of_folders(
    fault: str, code: Code, text: str, pictures: Path, tmp_path: Path
) -> None:
    spoil(pictures, fault)
    model = network(tmp_path / "m.onnx", [(2, 3, 8, 12)])
    with pytest.raises(AtcError) as caught:
        atc_py.compare_model(model, samples=pictures, aipp=config(tmp_path, RGB))
    first = caught.value.diagnostics[0]
    assert text in first.message
    assert first.code is code


def test_pictures_of_an_uncertain_input_are_refused(pictures: Path, tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [(1, 3, 8, 12), (1, 3, 8, 12)])
    with pytest.raises(AtcError, match="not certain which input") as caught:
        atc_py.compare_model(model, samples=pictures, aipp=config(tmp_path, *BOTH))
    assert caught.value.diagnostics[0].code is NO_SAMPLES
    with pytest.raises(AtcError, match="in the samples, and --input gives it") as caught:
        atc_py.compare_model(
            model,
            samples=[f"x0={pictures}"],
            inputs={"x0": PIXELS[:1]},
            aipp=config(tmp_path, *BOTH),
        )
    assert caught.value.diagnostics[0].code is BAD_OPTION
