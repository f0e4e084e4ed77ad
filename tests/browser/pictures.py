"""The pictures of pages in docs; `make pictures` takes them in Chromium.

A picture holds the digest of the page's style and script: `test_pictures.py` says which are old.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import onnx
from onnxruntime.quantization import QuantFormat
from PIL import Image, PngImagePlugin

from atc_py.compare.summary import SummaryOptions, summary_of
from atc_py.report.page.html_page import summary_html
from tests.bench.models import randomised_light
from tests.browser.conftest import CHROMIUM, FLAGS
from tests.browser.networks import refused_network
from tests.example_shell import ROOT
from tests.networks.quantized import Scheme, prepared, quantized
from tests.networks.test_shared_models import MODELS

DOCS = ROOT / "docs"
WIDTH, SHOWN = 1280, 1000
COLORS = 256


class Picture(NamedTuple):
    """A picture: its file, the file's model, how tall the page is cut, and what is selected."""

    file: str
    model: str
    height: int
    options: SummaryOptions
    select: str = ""


PICTURES = (
    Picture(
        "report-resnet50.png", "resnet50.onnx", 2180,
        SummaryOptions(
            ("Ascend310P3", "Ascend910B4"), running={"device": "ort"},
            given={"--soc": ("Ascend310P3", "Ascend910B4")},
        ),
        "c60",
    ),
    Picture(
        "report-mobilenetv2-int8.png", "mobilenetv2_int8.onnx", 2400,
        SummaryOptions(
            ("Ascend310P3",), running={"device": "ort"}, targets={"cosine": 0.9999},
            given={"--soc": ("Ascend310P3",), "--fail-under": ("cosine=0.9999",)},
        ),
        "c30",
    ),
    Picture(
        "report-resnet50-refused.png", "resnet50_refused.onnx", 1400,
        SummaryOptions(running={"device": "ort"}),
    ),
)  # fmt: skip


SWEEP = "sweep-table.png"
FOLDERS = {**{picture.file: ("overview",) for picture in PICTURES}, SWEEP: ("overview", "sweep")}
"""What draws the page of each picture: folders of templates."""


def style_digest(file: str) -> str:
    """Return a digest of what draws the page of a picture."""
    folders = [ROOT / "templates" / "report" / name for name in FOLDERS[file]]
    texts = [path.read_bytes() for folder in folders for path in sorted(folder.glob("*.*"))]
    return hashlib.sha256(b"".join(texts)).hexdigest()


def taken_with(path: Path) -> str:
    """Return the digest of the style with which a picture was taken."""
    with Image.open(path) as found:
        return str(found.info.get("style", ""))


def _write_models(folder: Path) -> None:
    """Write the models of the pictures."""
    onnx.save(randomised_light("resnet50"), folder / "resnet50.onnx")
    onnx.save(refused_network(), folder / "resnet50_refused.onnx")
    source, flat = MODELS / "mobilenetv2_opset13" / "model.onnx", folder / "flat.onnx"
    prepared(source, flat, even=True)
    scheme = Scheme("qoperator-int8-channels", form=QuantFormat.QOperator, per_channel=True)
    quantized(flat, folder / "mobilenetv2_int8.onnx", scheme)


def main() -> None:
    """Take the pictures."""
    from playwright.sync_api import sync_playwright  # no test of pictures needs a browser

    with tempfile.TemporaryDirectory() as name, sync_playwright() as started:
        folder = Path(name)
        _write_models(folder)
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for each in PICTURES:
            done = summary_of(folder / each.model, each.options)
            page = folder / "page.html"
            text = summary_html(done).replace(f"{folder}/", "")
            page.write_text(text, encoding="utf-8")
            sheet = browser.new_page(viewport={"width": WIDTH, "height": 900})
            sheet.goto(page.as_uri())
            sheet.wait_for_function("() => atcReport.ready")
            if each.select:
                sheet.evaluate(
                    "(id) => atcReport.select(atcReport.model.nodes.get(id), { center: true })",
                    each.select,
                )
            sheet.wait_for_timeout(500)
            _save(sheet.screenshot(full_page=True), DOCS / each.file, each.height)
            sheet.close()
        _take_sweep(browser, folder)
        browser.close()


def _take_sweep(browser: Any, folder: Path) -> None:
    """Take the table of a sweep: models for two SoCs."""
    models = folder / "models"
    models.mkdir()
    for name in ("resnet50", "resnet50_refused", "mobilenetv2_int8"):
        shutil.copy(folder / f"{name}.onnx", models)
    socs = ("--soc", "Ascend310P3", "--soc", "Ascend910B4")
    command = ["sweep", str(models), *socs, "--no-reports", "-o", str(folder / "sweep")]
    subprocess.run(
        [sys.executable, "-m", "atc_py", *command], check=False, stdout=subprocess.DEVNULL
    )
    sheet = browser.new_page(viewport={"width": WIDTH, "height": 640})
    sheet.goto((folder / "sweep" / "index.html").as_uri())
    sheet.wait_for_timeout(500)
    _save(sheet.screenshot(full_page=True), DOCS / SWEEP, 900)
    sheet.close()


def _save(data: bytes, path: Path, height: int) -> None:
    """Write a picture, cut and in few colors, with the digest of the style."""
    with Image.open(io.BytesIO(data)) as taken:
        cut = taken.convert("RGB").crop((0, 0, taken.width, min(height, taken.height)))
        small = cut.resize((SHOWN, round(cut.height * SHOWN / cut.width)), Image.Resampling.LANCZOS)
        facts = PngImagePlugin.PngInfo()
        facts.add_text("style", style_digest(path.name))
        small.quantize(COLORS, kmeans=6, dither=Image.Dither.NONE).save(
            path, optimize=True, pnginfo=facts
        )


if __name__ == "__main__":
    main()
