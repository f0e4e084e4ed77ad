"""Plans with bfloat16: the cheapest of all assignments of three dtypes, tried by the public commands."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.cost.network import network_time
from atc_py.package.reader import open_model
from tests.compare.broken_networks import built, node

pytestmark = pytest.mark.sweep
"""27 assignments are compiled and compared; `test_plan.py` tries smaller plans in every run."""

SOC = "Ascend910B1"
NODES = [
    node("MatMul", "x weight", "product"),
    node("Mul", "product few", "scaled"),
    node("MatMul", "scaled other", "y"),
]
OPERANDS = {"product": 2, "scaled": 2, "y": 2}
"""Operands of each node by its result; a node is called after that."""

DRAW = np.random.default_rng(4)
FEEDS: dict[str, NDArray[Any]] = {"x": DRAW.random((768, 1024)).astype(np.float32) + 1}
CONSTANTS = {
    "weight": DRAW.random((1024, 1024)).astype(np.float32) * 200,
    "few": np.float32(1e-5)[None],
    "other": DRAW.standard_normal((1024, 1024)).astype(np.float32),
}
"""The first product is beyond float16, whose range bfloat16 surpasses."""


def model_of(folder: Path) -> Path:
    """Save the chain."""
    onnx.save(built(NODES, FEEDS, CONSTANTS), folder / "model.onnx")
    return folder / "model.onnx"


def options_of(dtypes: dict[str, str], folder: Path) -> dict[str, Any]:
    """Write option files that give nodes their dtypes."""
    keep = [f"n_{name}\n" for name, dtype in dtypes.items() if dtype == "float32"]
    custom = [
        f"n_{name}::InputDtype:{','.join(['bfloat16'] * OPERANDS[name])},OutputDtype:bfloat16\n"
        for name, dtype in dtypes.items()
        if dtype == "bfloat16"
    ]
    found = {}
    for option, lines in (("keep_dtype", keep), ("customize_dtypes", custom)):
        if lines:
            found[option] = folder / option
            found[option].write_text("".join(lines), encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[float, float]]:
    """Return time and SNR of every assignment."""
    folder = tmp_path_factory.mktemp("every")
    model, found = model_of(folder), []
    for chosen in product(("float16", "float32", "bfloat16"), repeat=len(NODES)):
        options = options_of(dict(zip(OPERANDS, chosen, strict=True)), folder)
        atc_py.convert(model, folder / "tried.om", soc=SOC, **options)
        with open_model(folder / "tried.om") as package:
            seconds = network_time(package.description).expected
        done = atc_py.compare_model(model, inputs=FEEDS, soc=SOC, **options)
        layer = done.layers[done.outputs["y"]]
        found.append((seconds, -math.inf if layer.figures.lost_share else layer.judged.snr))
    return found


@pytest.mark.parametrize("trials", [120, 20])
@pytest.mark.parametrize("least", [40.0, 49.5, 60.0, 100.0, 200.0])
def test_plan_is_the_cheapest_of_all_assignments(
    least: float, trials: int, every: list[tuple[float, float]], tmp_path: Path
) -> None:
    reaching = [seconds for seconds, snr in every if snr >= least]
    plan = atc_py.plan_model(
        model_of(tmp_path), target={"snr": least}, samples=[FEEDS], soc=SOC, trials=trials
    )
    assert plan.exhaustive == (trials == 120)
    assert plan.reached == bool(reaching)
    if reaching:
        assert plan.chosen.seconds == pytest.approx(min(reaching), rel=1e-9)
    if least == 49.5:
        assert {*plan.chosen.dtypes.values()} == {"bfloat16"}
        assert 0 < len(plan.chosen.dtypes) < len(NODES)


def test_dtypes_differ_in_time_and_error(every: list[tuple[float, float]]) -> None:
    assert len(every) == 27
    assert len({round(seconds * 1e9) for seconds, _ in every}) > 3
    assert len({round(snr) for _, snr in every if math.isfinite(snr)}) > 3
