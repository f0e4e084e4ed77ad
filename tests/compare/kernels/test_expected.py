"""Expected results of launches, and the allowance for sums that cancel."""

from pathlib import Path

import numpy as np

import atc_py
from atc_py.compare.kernels.agreement import NOISE
from atc_py.compare.kernels.expected import expected_of
from atc_py.compare.kernels.samples import SampledLaunch, SampledNode
from atc_py.device.sim.execution.loading import build_program
from atc_py.package.reader import open_model
from tests.end_to_end import one_node_model


def test_noise_is_of_the_magnitudes_of_summands_alone(tmp_path: Path) -> None:
    """An axis that counts from the end is none of them."""
    x = np.random.default_rng(3).standard_normal((2, 3, 4)).astype(np.float16)
    axis = np.int64(-1)
    (tmp_path / "m.onnx").write_bytes(
        one_node_model("CumSum", {"x": x, "axis": np.asarray(axis)}, 14).SerializeToString()
    )
    atc_py.convert(tmp_path / "m.onnx", tmp_path / "m.om", operator_list="any")
    with open_model(tmp_path / "m.om") as model:
        (step,) = [
            step for step in build_program(model, merged=False).steps if step.node.op == "Cumsum"
        ]
    given = (x, np.asarray(axis, step.node.required(1).dtype.numpy))
    _, (noise,) = expected_of(SampledLaunch((SampledNode(step, given, (), "sums"),)))
    assert noise is not None
    np.testing.assert_allclose(noise, NOISE * np.abs(x).cumsum(-1, np.float64), rtol=1e-2)
