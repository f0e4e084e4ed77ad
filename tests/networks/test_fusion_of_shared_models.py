"""Real networks with and without fusion: launches as docs/fusion.md states them, and numbers."""

import re
from pathlib import Path

import numpy as np
import pytest

import atc_py
from atc_py.passes.pipeline import PIPELINE
from atc_py.results.comparison import compare, explained_share
from tests.sampling import alternating, some

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT.parent / "shared" / "models"
NAMES = [path.parent.name for path in sorted(MODELS.glob("*/model.onnx"))]
BY_SOC = "## Kernel launches by SoC"
SOCS = ["sim", "Ascend310P3", "Ascend910B3"]
LOWERING = {
    "batch-norm-to-bn-infer",
    "eliminate-dead-code",
    "fuse-conv-batch-norm",
    "rewrite-depthwise-conv",
}
"""What is no rule of docs/fusion.md, or has been before them."""

OFF = [
    row.name
    for row in PIPELINE
    if row.optional and row.place.startswith("fusion/") and row.name not in LOWERING
]


def _stated() -> dict[str, list[int]]:
    """Return launches before and after, by network."""
    text = _page().partition(BY_SOC)[0]
    rows = re.findall(r"^\| (\w+).*? \| (\d+) \| (\d+) \|", text, re.MULTILINE)
    return {name: [int(before), int(after)] for name, before, after in rows}


def _page() -> str:
    """Return docs/fusion.md."""
    return (ROOT / "docs" / "fusion.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "soc"), alternating(NAMES, SOCS, 2))
def test_launches_by_soc_are_the_ones_stated(name: str, soc: str, tmp_path: Path) -> None:
    short, column = name.rsplit("_", 1)[0], SOCS.index(soc)
    table = _page().partition(BY_SOC)[2]
    (row,) = re.findall(rf"^\| {short} \| (.*) \|$", table, re.MULTILINE)
    source = MODELS / name / "model.onnx"
    found = [
        atc_py.convert(source, tmp_path / "m.om", soc=soc, only_atc_passes=only).facts.launches
        for only in (False, True)
    ]
    assert row.split(" | ")[column] == ", ".join(map(str, found))


@pytest.mark.skipif(not NAMES, reason="the shared models are not here")
def test_every_network_is_stated() -> None:
    assert set(_stated()) == {name.rsplit("_", 1)[0] for name in NAMES}


@pytest.mark.parametrize("name", some(NAMES, 4, 1))
def test_fusion_makes_the_launches_stated_and_keeps_the_numbers(name: str, tmp_path: Path) -> None:
    feeds = dict(np.load(MODELS / name / "inputs.npz"))
    found, launches = {}, []
    for label, off in (("before", OFF), ("after", [])):
        om = tmp_path / f"{label}.om"
        done = atc_py.convert(MODELS / name / "model.onnx", om, disable_pass=off, verify=True)
        launches.append(done.facts.launches)
        with atc_py.load(om) as loaded:
            found[label] = loaded.run(feeds)
            description = loaded.description
    assert launches == _stated()[name.rsplit("_", 1)[0]]
    for output, expected in found["before"].items():
        if not np.issubdtype(expected.dtype, np.floating):
            np.testing.assert_array_equal(found["after"][output], expected)
            continue
        share = 2 * explained_share(description, output, expected)  # both sides round
        result = compare(output, found["after"][output], expected, share)
        assert result.passed, result
