"""`make demo`: what it reads without a network and with the trained one, and its picture."""

import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from PIL import Image

from tests.failures import in_one_item
from tests.trained.models import TRAINED
from tests.trained.wheels import cache_folder, fetch

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "docs" / "demo.py"
READER = ROOT / "docs" / "reader"
TEXT = "These words were read without a board"
READ = re.compile(rf"^(float32 on sim|float16 on Ascend310P3) +{TEXT} +(\d+\.\d+)%$", re.MULTILINE)
OFFLINE = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}


def module(name: str, path: Path | None = None) -> ModuleType:
    """A module of a file, or of docs/reader under the name that the others there import."""
    spec = importlib.util.spec_from_file_location(name, path or READER / f"{name}.py")
    assert spec
    assert spec.loader
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


picture: Any = module("picture")


def demo(out: Path) -> str:
    """Run the demo without a package index; return what it prints."""
    done = subprocess.run(
        [sys.executable, str(DEMO), str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, **OFFLINE, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def assert_read(printed: str, out: Path) -> None:
    """Compare what both precisions read with the text of the picture."""
    found = dict(READ.findall(printed))
    assert len(found) == 2, printed
    assert all(float(share) > 90 for share in found.values())
    assert re.search(r"^Estimated time on Ascend310P3, float16: 0\.\d\d ms", printed, re.MULTILINE)
    assert not re.search(r"\b(nan|inf)\b", printed, re.IGNORECASE)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")


def test_demo_reads_the_line_without_a_package_index(tmp_path: Path) -> None:
    printed = demo(tmp_path / "out")
    assert "a small network reads instead" in printed
    assert_read(printed, tmp_path / "out")


@pytest.mark.sweep
def test_demo_reads_the_line_with_the_trained_network(tmp_path: Path) -> None:
    wheel = next(each.wheel for each in TRAINED if "rapidocr" in each.wheel.package)
    if not fetch(wheel):
        pytest.skip(f"{wheel.file} cannot be downloaded")
    shutil.copy(cache_folder() / wheel.file, tmp_path)
    printed = demo(tmp_path)
    assert "small network" not in printed
    assert_read(printed, tmp_path)


def test_wheel_of_another_digest_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(DEMO.parent)
    program: Any = module("demo", DEMO)
    (tmp_path / program.WHEEL).write_bytes(b"other")
    assert program.fetch(tmp_path) is None
    assert "a small network reads instead" in capsys.readouterr().out


def test_picture_and_small_network_are_small() -> None:
    assert (READER / "reader.onnx").stat().st_size < 300_000
    assert (READER / "line.png").stat().st_size < 10_000


def test_picture_is_what_pillow_reads() -> None:
    expected = np.asarray(Image.open(READER / "line.png"), np.float32)
    np.testing.assert_array_equal(picture.gray_png(READER / "line.png"), expected)


def chunk(kind: bytes, body: bytes) -> bytes:
    """Return a part of a PNG file."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(form: bytes, lines: bytes) -> bytes:
    """Return a PNG file of 7 columns and 5 rows."""
    header = struct.pack(">II", 7, 5) + form
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


GRAY = bytes((8, 0, 0, 0, 0))


@in_one_item("kind", range(5))
def test_every_filter_is_undone(tmp_path: Path, kind: int) -> None:
    draw = np.random.default_rng(kind)
    lines = draw.integers(0, 256, (5, 8), np.uint8)
    lines[:, 0] = kind
    path = tmp_path / "picture.png"
    path.write_bytes(png(GRAY, lines.tobytes()))
    expected = np.asarray(Image.open(path), np.float32)
    np.testing.assert_array_equal(picture.gray_png(path), expected)


@in_one_item("data", [b"", b"GIF89a", png(bytes((8, 2, 0, 0, 0)), b"")])
def test_other_pictures_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=re.escape(str(path))):
        picture.gray_png(path)


def test_scaled_picture_keeps_its_mean() -> None:
    values = np.random.default_rng(0).random((48, 510), np.float32)
    smaller = picture.scaled(values, 32)
    assert smaller.shape == (32, 340)
    np.testing.assert_allclose(smaller.mean(), values.mean(), rtol=1e-5)
    np.testing.assert_allclose(picture.scaled(values, 48), values, rtol=1e-6)


def test_text_is_the_likeliest_character_of_each_step_once() -> None:
    shares = np.full((6, 3), 0.1, np.float32)
    for step, best in enumerate((1, 1, 0, 1, 2, 0)):
        shares[step, best] = 0.8
    text, confidence = picture.read_text(shares, ["a", "b"])
    assert text == "aab"
    assert confidence == pytest.approx(0.8)


def test_probability_of_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="no numbers"):
        picture.read_text(np.array([[np.nan, 1.0]], np.float32), ["a"])


def test_training_writes_the_picture_and_the_form_of_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train: Any = module("train")
    monkeypatch.setattr(train, "HERE", tmp_path)
    monkeypatch.setattr(sys, "argv", ["train.py", "1"])
    train.main()
    kept = np.asarray(Image.open(READER / "line.png"))
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "line.png")), kept)
    ours, shipped = (onnx.load(folder / "reader.onnx") for folder in (tmp_path, READER))
    assert [each.op_type for each in ours.graph.node] == [
        each.op_type for each in shipped.graph.node
    ]
    assert [list(each.dims) for each in ours.graph.initializer] == [
        list(each.dims) for each in shipped.graph.initializer
    ]
    onnx.checker.check_model(shipped, full_check=True)


def test_gradient_of_the_training_is_that_of_its_loss() -> None:
    train: Any = module("train")
    draw = np.random.default_rng(3)
    pictures = draw.random((2, 1, 32, 32), np.float32)
    labels = draw.integers(0, 5, (2, 8))
    reader = train.Reader(draw)
    before = [each.copy() for each in reader.weights]
    found: list[Any] = []
    reader._step = lambda gradients, _rate: found.extend(gradients)
    reader.train(pictures, labels, 0.0)
    for position in (0, 5, 10):
        slope = draw.normal(size=before[position].shape).astype(np.float32)
        ends = []
        for side in (1e-2, -1e-2):
            reader.weights[position] = before[position] + side * slope
            ends.append(reader.train(pictures, labels, 0.0))
            del found[12:]
        reader.weights[position] = before[position]
        expected = (ends[0] - ends[1]) / 2e-2
        assert float((found[position] * slope).sum()) == pytest.approx(expected, rel=0.05)
