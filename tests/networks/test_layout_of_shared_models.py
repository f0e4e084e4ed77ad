"""Real networks stored in blocks and row by row: the same bits, and the conversions that are stated."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import atc_py
from tests.sampling import alternating

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT.parent / "shared" / "models"
NAMES = [path.parent.name for path in sorted(MODELS.glob("*/model.onnx"))]
LAYOUT = ["assign-storage", "merge-trans-data"]
SOCS = ["sim", "Ascend310P3", "Ascend910B3"]
"""One whose cube reads fractals alone, between two whose copies make fractals of rows."""

TARGETS = [("sim", "allow_fp32_to_fp16"), ("Ascend310P3", "force_fp16")]


def counted(names: Iterable[str]) -> str:
    """Return `Reshape 3, TransposeD 2`, the most frequent first."""
    ranked = sorted(Counter(names).items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in ranked)


def stated_row(name: str, soc: str, om: Path) -> str:
    """Return a network's row of the table in docs/layout.md."""
    model = MODELS / name / "model.onnx"
    rows = atc_py.convert(model, om, soc=soc, disable_pass=LAYOUT).facts
    facts = atc_py.convert(model, om, soc=soc, verify=True).facts
    made = facts.layout["trans_data"]
    assert isinstance(made, list)
    into = [each["given_by"] for each in made if each["from"] in {"ND", "NCHW"}]
    out = ["/".join(each["taken_by"]) for each in made if each["to"] in {"ND", "NCHW"}]
    cells = [
        name.rsplit("_", 1)[0], soc, str(rows.launches), str(facts.launches), str(len(made)),
        counted(into), counted(out), str(facts.target_operators.get("Cast", 0)),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


@pytest.mark.parametrize(("name", "soc"), alternating(NAMES, SOCS, 4, 1))
def test_conversions_are_the_ones_stated(name: str, soc: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "layout.md").read_text(encoding="utf-8")
    assert stated_row(name, soc, tmp_path / "m.om") in page.splitlines()


@pytest.mark.skipif(not NAMES, reason="the shared models are not here")
def test_every_network_is_stated() -> None:
    page = (ROOT / "docs" / "layout.md").read_text(encoding="utf-8")
    table = page.partition("## Conversions of the example networks")[2]
    stated = set(re.findall(r"^\| (\w+) \| sim \| \d", table, re.MULTILINE))
    assert stated == {name.rsplit("_", 1)[0] for name in NAMES}


@pytest.mark.parametrize(("name", "target"), alternating(NAMES, TARGETS, 4))
def test_blocks_change_no_bit(name: str, target: tuple[str, str], tmp_path: Path) -> None:
    soc, mode = target
    feeds = dict(np.load(MODELS / name / "inputs.npz"))
    found = []
    for label, off in (("rows", LAYOUT), ("blocks", [])):
        om = tmp_path / f"{label}.om"
        source = MODELS / name / "model.onnx"
        atc_py.convert(source, om, soc=soc, precision_mode=mode, disable_pass=off)
        with atc_py.load(om) as model:
            in_blocks = any(tensor.storage is not None for tensor in model.description.tensors)
            found.append((model.run(feeds), in_blocks))
    (rows, without), (blocks, stored) = found
    assert stored
    assert not without
    assert rows.keys() == blocks.keys()
    for output, expected in rows.items():
        assert blocks[output].dtype == expected.dtype
        assert blocks[output].tobytes() == expected.tobytes(), output
