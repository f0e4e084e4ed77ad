"""GridSample through the whole compiler, against onnxruntime, and where ONNX says nothing."""

import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from atc_py.api import check_models, convert
from atc_py.diag import AtcError
from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime
from tests.onnx_graph.onnx_files import save

Array = npt.NDArray[Any]

KEEP, FORCE = "must_keep_origin_dtype", "force_fp16"
LISTED = "cann-9.0"
PADDINGS = ("zeros", "border", "reflection")
FORMS = list(product(("bilinear", "nearest"), PADDINGS, (0, 1)))
RELATIVE = {KEEP: 2e-5, FORCE: 4e-3}
"""Share of the range: float32; float16 values, of which four weighted ones make a sample."""

SIZES = [((2, 3, 4, 5), (2, 6, 7, 2)), ((1, 2, 1, 1), (1, 3, 3, 2)), ((3, 1, 7, 1), (3, 1, 5, 2))]


def found(feeds: dict[str, Array], precision: str, **attributes: Any) -> Array:
    """Return the result of a node."""
    model = one_node_model("GridSample", feeds, 16, **attributes)
    with tempfile.TemporaryDirectory() as folder:
        options = {"precision_mode": precision, "operator_list": LISTED}
        (result,) = run_with_atc_py(model, feeds, Path(folder), **options).values()
    return result


def sampled(image: tuple[int, ...], grid: tuple[int, ...]) -> dict[str, Array]:
    """Return images, and a grid inside them, around them and far beyond, of numbers of float16."""
    generator = np.random.default_rng(image)
    places = generator.integers(-24, 25, grid) / 16.0
    places[:, 0] *= 4
    x = generator.standard_normal(image, dtype=np.float32)
    return {"x": x, "grid": places.astype(np.float32)}


@pytest.mark.parametrize(("mode", "padding", "aligned"), FORMS)
def test_form_of_grid_sample(mode: str, padding: str, aligned: int) -> None:
    attributes: dict[str, Any] = {"padding_mode": padding, "align_corners": aligned, "mode": mode}
    for image, grid in SIZES:
        feeds = sampled(image, grid)
        (expected,) = run_with_onnxruntime(
            one_node_model("GridSample", feeds, 16, **attributes), feeds
        ).values()
        for precision, relative in RELATIVE.items():
            result = found(feeds, precision, **attributes)
            atol = relative * float(np.abs(expected).max())
            np.testing.assert_allclose(result, expected, rtol=0, atol=atol)


def test_defaults_are_those_of_onnx() -> None:
    feeds = sampled(*SIZES[0])
    named = {"mode": "bilinear", "padding_mode": "zeros", "align_corners": 0}
    np.testing.assert_array_equal(found(feeds, KEEP), found(feeds, KEEP, **named))


@pytest.mark.parametrize("dtypes", list(product(("float16", "float32"), repeat=2)))
def test_dtypes_of_images_and_grid(dtypes: tuple[str, str]) -> None:
    feeds = sampled(*SIZES[0])
    wide = found(feeds, KEEP)
    narrow = {n: a.astype(d) for (n, a), d in zip(feeds.items(), dtypes, strict=True)}
    for mode in RELATIVE:
        result = found(narrow, mode)
        assert result.dtype == dtypes[0]
        np.testing.assert_allclose(result, wide, rtol=0, atol=RELATIVE[FORCE] * 4)


def test_special_values() -> None:
    x = np.array([[[[1.0, np.inf], [np.nan, 2.0]]]], np.float32)
    grid = np.array([[-1, -1], [1, 1], [1, -1], [0, 0], [9, 9]], np.float32).reshape(1, 1, 5, 2)
    result = found({"x": x, "grid": grid}, KEEP, align_corners=1, padding_mode="zeros")
    np.testing.assert_array_equal(result.reshape(-1), [np.nan, 2, np.inf, np.nan, 0])


@pytest.mark.parametrize(("mode", "padding", "aligned"), FORMS)
def test_positions_that_are_nan_or_infinite_do_no_harm(
    mode: str, padding: str, aligned: int
) -> None:
    x = np.arange(1, 13, dtype=np.float32).reshape(1, 1, 3, 4)
    grid = np.full((1, 3, 2, 2), np.nan, np.float32)
    grid[0, 1], grid[0, 2] = np.inf, -np.inf
    attributes: dict[str, Any] = {"padding_mode": padding, "align_corners": aligned, "mode": mode}
    result = found({"x": x, "grid": grid}, KEEP, **attributes)[0, 0, :, 0]
    expected = {"zeros": [0, 0, 0], "border": [1, 12, 1], "reflection": [1, 1, 1]}
    np.testing.assert_array_equal(result, expected[padding])


def test_nearest_runs_on_the_ai_cpu_and_bilinear_where_the_kernel_is(tmp_path: Path) -> None:
    feeds = sampled(*SIZES[0])
    for soc, mode, on_aicpu in (
        ("Ascend310P3", "bilinear", False),
        ("Ascend310P3", "nearest", True),
        ("Ascend910A", "bilinear", True),
    ):
        model = save(one_node_model("GridSample", feeds, 16, mode=mode), tmp_path)
        done = convert(model, tmp_path / "m.om", soc=soc, operator_list=LISTED)
        assert ("aicpu" in done.facts.engines) is on_aicpu


@pytest.mark.parametrize(
    ("image", "grid", "attributes", "words"),
    [
        ((2, 1, 3, 3), (1, 2, 2, 2), {}, "must agree in dimension N"),
        ((1, 1, 3, 3), (1, 2, 2, 3), {}, "dimension K"),
        ((1, 1, 3, 3), (1, 2, 2, 2), {"mode": "bicubic"}, "must be bilinear or nearest"),
        ((1, 1, 3, 3), (1, 2, 2, 2), {"padding_mode": "edge"}, "must be zeros, border or"),
        ((1, 1, 0, 3), (1, 2, 2, 2), {}, "has no pixels to sample"),
    ],
)
def test_other_forms_are_refused(
    image: tuple[int, ...],
    grid: tuple[int, ...],
    attributes: dict[str, Any],
    words: str,
    tmp_path: Path,
) -> None:
    feeds = {"x": np.zeros(image, np.float32), "grid": np.zeros(grid, np.float32)}
    model = save(one_node_model("GridSample", feeds, 16, **attributes), tmp_path)
    with pytest.raises(AtcError, match=words):
        convert(model, tmp_path / "m.om", operator_list=LISTED)
    (checked,) = check_models(model, operator_list=LISTED).models
    assert any(words in finding.message.en for finding in checked.findings)
