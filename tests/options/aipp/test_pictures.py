"""Picture files as the bytes of an input: each format, standards of color, sizes, faulty files."""

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.diag import AtcError, Diagnostic
from atc_py.options.aipp import AippSettings, pictures, source_shape
from atc_py.options.aipp.image_formats import IMAGE_FORMATS
from atc_py.options.aipp.pictures import (
    ColorStandard,
    encoded_picture,
    joined_pictures,
    picture_input,
    read_picture,
    standard_of,
    yuv_of_rgb,
)

PICTURE = np.random.default_rng(5).integers(0, 256, (6, 8, 3), np.uint8)

MATRICES = {
    "JPEG": (256, 0, 359, 256, -88, -183, 256, 454, 0),
    "BT601_NARROW": (298, 0, 409, 298, -100, -208, 298, 516, 0),
    "BT709_NARROW": (298, 0, 459, 298, -55, -136, 298, 541, 0),
    "BT709_WIDE": (256, 0, 403, 256, -48, -120, 256, 475, 0),
}


def settings(name: str, **given: Any) -> AippSettings:
    """Return settings for the picture."""
    return AippSettings(input_format=name, src_image_size_w=8, src_image_size_h=6, **given)


@pytest.mark.parametrize("name", [row.name for row in IMAGE_FORMATS])
def test_bytes_have_the_shape_of_the_input(name: str) -> None:
    given = settings(name)
    assert encoded_picture(PICTURE, given).shape == source_shape(given, 1)[1:]
    one = encoded_picture(PICTURE, given)
    assert joined_pictures([one, one], given).shape == source_shape(given, 2)


def test_rgb_formats_hold_the_pixels() -> None:
    assert (encoded_picture(PICTURE, settings("RGB888_U8")) == PICTURE).all()
    swapped = encoded_picture(PICTURE, settings("RGB888_U8"), swapped=True)
    assert (swapped == PICTURE[..., ::-1]).all()
    last = encoded_picture(PICTURE, settings("XRGB8888_U8"))
    assert (last[..., :3] == PICTURE).all()
    assert (last[..., 3] == 255).all()
    first = encoded_picture(PICTURE, settings("XRGB8888_U8", ax_swap_switch=True))
    assert (first[..., 1:] == PICTURE).all()
    assert (first[..., 0] == 255).all()


@pytest.mark.parametrize(
    "name", ["YUV420SP_U8", "YUV422SP_U8", "YUYV_U8", "AYUV444_U8", "YUV400_U8"]
)
def test_rows_are_converted_some_at_a_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = encoded_picture(PICTURE, settings(name))
    monkeypatch.setattr(pictures, "_BAND", 4)
    assert (encoded_picture(PICTURE, settings(name)) == whole).all()


def test_pillow_agrees_on_jpeg_and_gray() -> None:
    image = pytest.importorskip("PIL.Image")
    theirs = np.asarray(image.fromarray(PICTURE).convert("YCbCr"), np.int16)
    ours = encoded_picture(PICTURE, settings("AYUV444_U8"))[..., :3]
    assert np.abs(ours.astype(np.int16) - theirs).max() <= 1
    gray = np.asarray(image.fromarray(PICTURE).convert("L"), np.int16)
    own = encoded_picture(PICTURE, settings("YUV400_U8"))[..., 0]
    assert np.abs(own.astype(np.int16) - gray).max() <= 1


def pixels_of(name: str, data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return Y, U, V of each pixel, one pixel after the other."""
    flat = data.reshape(-1)
    found = np.zeros((6, 8, 3), np.uint8)
    for row in range(6):
        for column in range(8):
            pair = column - column % 2
            at = {
                "YUV420SP_U8": (row * 8 + column, 48 + row // 2 * 8 + pair),
                "YUV422SP_U8": (row * 8 + column, 48 + row * 8 + pair),
            }.get(name)
            if at is not None:
                found[row, column] = flat[at[0]], flat[at[1]], flat[at[1] + 1]
            else:
                start = (row * 8 + pair) * 2
                found[row, column] = flat[(row * 8 + column) * 2], flat[start + 1], flat[start + 3]
    return found


@pytest.mark.parametrize(("name", "down"), [("YUV420SP_U8", 2), ("YUV422SP_U8", 1), ("YUYV_U8", 1)])
def test_pixels_that_share_chroma_have_its_mean(name: str, down: int) -> None:
    found = pixels_of(name, encoded_picture(PICTURE, settings(name)))
    exact = yuv_of_rgb(PICTURE, ColorStandard.JPEG)
    for row in range(6):
        for column in range(8):
            top, left = row - row % down, column - column % 2
            mean = exact[top : top + down, left : left + 2, 1:].mean(axis=(0, 1))
            expected = [exact[row, column, 0], *mean]
            rounded = np.clip(np.floor(np.array(expected) + 0.5), 0, 255)
            assert found[row, column].tolist() == rounded.tolist()
    swapped = pixels_of(name, encoded_picture(PICTURE, settings(name), swapped=True))
    assert (swapped == found[..., [0, 2, 1]]).all()


@pytest.mark.parametrize("standard", MATRICES)
@pytest.mark.parametrize("order", ["rgb", "bgr"])
def test_standard_follows_from_the_matrix(standard: str, order: str) -> None:
    rows = np.array(MATRICES[standard]).reshape(3, 3)
    matrix = (rows if order == "rgb" else rows[::-1]).reshape(-1).tolist()
    bias = (16 if "NARROW" in standard else 0, 128, 128)
    given = settings("YUV420SP_U8", csc_switch=True, matrix=tuple(matrix), input_bias=bias)
    assert standard_of(given) is ColorStandard[standard]
    # A round trip in exact arithmetic: the matrix of the recipe undoes the standard.
    yuv = yuv_of_rgb(PICTURE, ColorStandard[standard])
    again = (yuv - bias) @ (rows.T / 256)
    assert np.abs(again - PICTURE).max() < 1.7


def test_standard_of_other_settings() -> None:
    assert standard_of(settings("YUV420SP_U8")) is ColorStandard.JPEG
    gray = {"csc_switch": True, "matrix": (256,) + (0,) * 8}
    assert standard_of(settings("YUV420SP_U8", **gray)) is ColorStandard.JPEG
    narrow = settings("YUV420SP_U8", input_bias=(16, 0, 0), **gray)
    assert standard_of(narrow) is ColorStandard.BT601_NARROW
    assert standard_of(settings("RGB888_U8", csc_switch=True)) is ColorStandard.JPEG


def saved(folder: Path, array: NDArray[Any], name: str = "p.npy") -> Path:
    """Return the path of an array file."""
    path = folder / name
    np.save(path, array)
    return path


def test_array_is_a_picture(tmp_path: Path) -> None:
    path = saved(tmp_path, PICTURE)
    assert (picture_input(path, settings("RGB888_U8")) == PICTURE[np.newaxis]).all()
    gray = saved(tmp_path, PICTURE[..., 0])
    assert (picture_input(gray, settings("YUV400_U8"))[0, ..., 0] == PICTURE[..., 0]).all()


def refusal(path: Path, given: AippSettings) -> Diagnostic:
    """Return why a picture is refused."""
    with pytest.raises(AtcError) as raised:
        picture_input(path, given)
    (found,) = raised.value.diagnostics
    assert found.place is not None
    assert found.place.file == str(path)
    return found


def test_other_size_is_refused_with_both_sizes(tmp_path: Path) -> None:
    path = saved(tmp_path, PICTURE[:5])
    found = refusal(path, settings("RGB888_U8"))
    assert found.code.id == "ATC2024"
    assert "has 5 rows of 8 pixels, but AIPP takes 6 rows of 8" in found.message


def test_picture_is_resized_on_request(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    path = tmp_path / "p.png"
    image.fromarray(np.kron(PICTURE, np.ones((2, 2, 1), np.uint8))).save(path)
    found = picture_input(path, settings("RGB888_U8"), resize=True)
    wanted = image.open(path).resize((8, 6), image.Resampling.BILINEAR)
    assert (found[0] == np.asarray(wanted)).all()


@pytest.mark.parametrize(
    "array",
    [
        PICTURE.astype(np.float32),
        PICTURE[..., :2],
        PICTURE[0, 0],
        PICTURE[:0],
        PICTURE.transpose(2, 0, 1),
    ],
)
def test_array_that_is_not_a_picture_is_refused(tmp_path: Path, array: NDArray[Any]) -> None:
    found = refusal(saved(tmp_path, array), settings("RGB888_U8"))
    assert found.code.id == "ATC2024"
    assert "uint8 [height, width, 3]" in found.message


def code_of_reading(path: Path) -> str:
    """Return the code with which a file is refused, or nothing for a picture of the right size."""
    try:
        found = read_picture(path)
    except AtcError as error:
        return error.diagnostics[0].code.id
    return "" if found.shape == PICTURE.shape else str(found.shape)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "npy"])
def test_file_cut_anywhere_is_refused_or_read(tmp_path: Path, kind: str) -> None:
    stream = io.BytesIO()
    if kind == "npy":
        np.save(stream, PICTURE)
    else:
        image = pytest.importorskip("PIL.Image")
        image.fromarray(PICTURE).save(stream, kind)
    data, path = stream.getvalue(), tmp_path / f"p.{kind.lower()}"
    for end in range(0, len(data), max(len(data) // 60, 1)):
        path.write_bytes(data[:end])
        assert code_of_reading(path) in {"", "ATC2024"}


def test_array_with_a_damaged_header_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, PICTURE)
    data = path.read_bytes()
    for at in range(len(data) - PICTURE.size):
        path.write_bytes(data[:at] + b"\x84" + data[at + 1 :])
        assert code_of_reading(path) in {"", "ATC2024"}


def test_enormous_picture_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    path = tmp_path / "p.ppm"
    path.write_bytes(b"P6 9000 9000 255\n")
    assert "more than 67108864 pixels" in refusal(path, settings("RGB888_U8")).message
    path.write_bytes(b"P6 90000 90000 255\n")
    assert refusal(path, settings("RGB888_U8")).code.id == "ATC2024"


def test_missing_file_and_missing_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(tmp_path / "none.npy", settings("RGB888_U8")).code.id == "ATC2001"
    monkeypatch.setitem(sys.modules, "PIL", None)
    found = refusal(tmp_path / "p.png", settings("RGB888_U8"))
    assert found.code.id == "ATC2025"
    assert "pip install" in found.code.remedy


def test_pictures_of_dynamic_aipp_end_in_zeros() -> None:
    node = AippSettings(aipp_mode="dynamic", max_src_image_size=400)
    one = encoded_picture(PICTURE, settings("RGB888_U8"))
    found = joined_pictures([one, one], node)
    assert found.shape == (1, 400)
    assert (found[0, 144:288] == PICTURE.reshape(-1)).all()
    assert not found[0, 288:].any()
    with pytest.raises(ValueError, match="432 bytes"):
        joined_pictures([one] * 3, node)
