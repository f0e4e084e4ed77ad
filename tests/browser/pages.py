"""Pages to open: of one model, of the gears of one, of several models, and what a command wrote."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx

from atc_py.compare.summary import SummaryOptions, summaries_of, summary_of
from atc_py.onnx_graph.source import FileGraph
from atc_py.options.compile_options import CheckOptions, select_gears
from atc_py.pipeline.check import check_files
from atc_py.report.check.json_document import check_document
from atc_py.report.page.html_page import check_html, summaries_html, summary_html
from tests.bench.models import randomised_light
from tests.bench.sized_networks import SIZED_NETWORKS
from tests.browser.networks import (
    failing_network,
    hostile_network,
    quantized_network,
    refused_network,
)
from tests.gears.models import image_model

NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {
    "resnet50": lambda: randomised_light("resnet50"),
    "swin_t": SIZED_NETWORKS["swin_t"],
    "quantized": quantized_network,
    "refused": refused_network,
    "hostile": hostile_network,
    "failing": failing_network,
}
"""Networks of pages about one model."""


def _one(name: str, folder: Path) -> str:
    """Return the page of a network."""
    model = folder / f"{name}.onnx"
    onnx.save(NETWORKS[name](), model)
    options = SummaryOptions(
        socs=("Ascend310P3", "Ascend910B4") if name == "resnet50" else (),
        running={"device": "ort"},
        targets={"cosine": 0.999} if name == "failing" else {},
    )
    return summary_html(summary_of(model, options))


def _gears(folder: Path) -> str:
    """Return the page of a model with two gears."""
    model = image_model(folder / "gears.onnx")
    shapes = "x:1,3,-1,-1"
    gears = select_gears({"image_sizes": "16,16;32,16", "input_shape": shapes})
    return summaries_html(summaries_of(model, SummaryOptions(gears=gears)))


def _samples(folder: Path) -> str:
    """Return the page of a comparison over many samples, of which one is large."""
    model = image_model(folder / "samples.onnx", (1, 3, 16, 16))
    arrays = np.random.default_rng(3).standard_normal((6, 1, 3, 16, 16)).astype(np.float32)
    arrays[4] *= 5000
    np.savez(folder / "pictures.npz", x=arrays)
    running = {"samples": folder / "pictures.npz"}
    return summary_html(summary_of(model, SummaryOptions(running=running)))


def _several(folder: Path) -> str:
    """Return the page of a check of three models."""
    files = []
    for name in ("quantized", "refused", "hostile"):
        files.append(folder / f"several_{name}.onnx")
        onnx.save(NETWORKS[name](), files[-1])
    file_graphs: dict[str, FileGraph] = {}
    report = check_files(files, CheckOptions(), file_graphs=file_graphs)
    return check_html(check_document(report, "en"), report, file_graphs)


PAGES: dict[str, Callable[[Path], str]] = {
    **{name: lambda folder, name=name: _one(name, folder) for name in NETWORKS},  # type: ignore[misc]
    "gears": _gears,
    "samples": _samples,
    "several": _several,
}
"""What makes each page, in a folder for its models."""
