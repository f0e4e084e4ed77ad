"""Samples in files beside inputs that are the same in all of them."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_DATA_FILE, BAD_OPTION, BAD_RUN_INPUT, BAD_SAMPLE
from tests.compare.broken_networks import built, node
from tests.compare.test_many_samples import WIDTH, drawn, peaks_of

Array = NDArray[Any]

SCALE = np.full((1, WIDTH), 3, np.float32)


def scaled(folder: Path, width: int = WIDTH) -> Path:
    """Save a model of the inputs x and scale."""
    nodes = [node("Mul", "x scale", "m"), node("Sqrt", "m", "y")]
    ends = dict.fromkeys(("x", "scale"), np.zeros((1, width), np.float32))
    onnx.save(built(nodes, ends, {}), folder / "model.onnx")
    return folder / "model.onnx"


def positive(count: int, width: int = WIDTH) -> Array:
    """Return samples of x whose roots are numbers."""
    found: Array = np.abs(drawn(count, width))
    return found


@pytest.mark.parametrize("form", ["rows", "one file each", "arrays", "folders"])
def test_given_inputs_are_the_same_in_all_samples(form: str, tmp_path: Path) -> None:
    model, arrays, folder = scaled(tmp_path), positive(3), tmp_path / "samples"
    folder.mkdir()
    samples: Any = folder
    if form == "rows":
        samples = tmp_path / "x.npy"
        np.save(samples, arrays)
    elif form == "arrays":
        samples = [{"x": each[None]} for each in arrays]
    for at, each in enumerate(arrays):
        if form == "one file each":
            np.save(folder / f"{at}.npy", each[None])
        elif form == "folders":
            (folder / str(at)).mkdir()
            np.save(folder / str(at) / "x.npy", each[None])
    done = atc_py.compare_model(model, inputs={"scale": SCALE}, samples=samples)
    both = [{"x": each[None], "scale": SCALE} for each in arrays]
    alone = atc_py.compare_model(model, samples=both)
    assert done.samples == 3
    assert [each.figures for each in done.layers] == [each.figures for each in alone.layers]
    first = atc_py.compare_model(model, inputs=both[0])
    assert [each.figures for each in done.layers] != [each.figures for each in first.layers]


def test_input_in_both_is_refused(tmp_path: Path) -> None:
    model, both = scaled(tmp_path), {"x": positive(2), "scale": np.repeat(SCALE, 2, 0)}
    np.savez(tmp_path / "both.npz", x=both["x"], scale=both["scale"])
    folder = tmp_path / "folder"
    (folder / "a").mkdir(parents=True)
    for name, array in both.items():
        np.save(folder / "a" / f"{name}.npy", array[:1])
    listed = [{name: array[:1] for name, array in both.items()}]
    for samples in (tmp_path / "both.npz", folder, listed):
        with pytest.raises(AtcError, match="'scale', which --input gives for all") as caught:
            atc_py.compare_model(model, inputs={"scale": SCALE}, samples=samples)
        assert caught.value.diagnostics[0].code is BAD_SAMPLE
    with pytest.raises(AtcError, match="none is left for --data") as caught:
        atc_py.compare_model(
            model, inputs={"scale": SCALE, "x": positive(1)}, samples=tmp_path / "both.npz"
        )
    assert caught.value.diagnostics[0].code is BAD_OPTION


def test_sample_that_lacks_an_input_or_is_broken_is_named(tmp_path: Path) -> None:
    model, folder = scaled(tmp_path), tmp_path / "samples"
    folder.mkdir()
    for at, each in enumerate(positive(3)):
        np.save(folder / f"{at}.npy", each[None])
    inputs = {"scale": SCALE}
    (folder / "1.npy").write_bytes((folder / "1.npy").read_bytes()[:-8])
    with pytest.raises(AtcError, match=r"1\.npy") as caught:
        atc_py.compare_model(model, inputs=inputs, samples=folder)
    assert caught.value.diagnostics[0].code is BAD_DATA_FILE
    np.save(folder / "1.npy", np.ones((2, WIDTH), np.float32))
    with pytest.raises(AtcError, match=r"1\.npy has the shape") as caught:
        atc_py.compare_model(model, inputs=inputs, samples=folder)
    assert caught.value.diagnostics[0].code is BAD_SAMPLE
    (folder / "1.npy").unlink()
    (folder / "notes.txt").write_text("none")
    with pytest.raises(AtcError, match=r"notes\.txt") as caught:
        atc_py.compare_model(model, inputs=inputs, samples=folder)
    assert caught.value.diagnostics[0].code is BAD_RUN_INPUT
    with pytest.raises(AtcError, match="lacks the input 'x'"):
        atc_py.compare_model(model, inputs=inputs, samples=[{}])


def test_all_samples_judge_a_suggestion_beside_given_inputs(tmp_path: Path) -> None:
    model, arrays = scaled(tmp_path), positive(10)
    arrays[7] *= 40000
    np.save(tmp_path / "x.npy", arrays)
    found = atc_py.compare_model(
        model, inputs={"scale": SCALE}, samples=tmp_path / "x.npy", suggest={"snr": 40.0}
    ).suggestion
    assert found is not None
    assert (found.needed, found.reached, found.samples) == (True, True, 10)


def test_memory_does_not_grow_with_samples_beside_given_inputs(tmp_path: Path) -> None:
    model, inputs = scaled(tmp_path, 8192), {"scale": np.ones((1, 8192), np.float32)}

    def saved(count: int) -> Path:
        np.save(tmp_path / "x.npy", positive(count, 8192))
        return tmp_path / "x.npy"

    few, many = peaks_of(
        lambda samples: atc_py.compare_model(model, inputs=inputs, samples=samples), saved
    )
    assert many < few + 20 * 4 * 8192


def test_arrays_of_a_file_are_for_the_inputs_of_their_names(tmp_path: Path) -> None:
    model, path = scaled(tmp_path), tmp_path / "all.npz"
    inputs = {"scale": SCALE}
    np.savez(path, x=positive(2), labels=np.arange(2))
    with pytest.raises(AtcError, match=r"all\.npz has an array 'labels'") as caught:
        atc_py.compare_model(model, inputs=inputs, samples=path)
    assert caught.value.diagnostics[0].code is BAD_SAMPLE
    done = atc_py.compare_model(model, inputs=inputs, samples=[f"x={path}"])
    assert done.samples == 2
    np.savez(path, a=positive(2), b=positive(2))
    with pytest.raises(AtcError, match="has 2 arrays, and none is called 'x'") as caught:
        atc_py.compare_model(model, inputs=inputs, samples=[f"x={path}"])
    assert caught.value.diagnostics[0].code is BAD_SAMPLE
