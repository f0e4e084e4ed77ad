"""Random models of control flow: what is written computes what was read, in any engine that loads it."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import REFERENCE_FAILED
from tests.fix.control_flow_models import random_model
from tests.sampling import rounds

onnxruntime = pytest.importorskip("onnxruntime")

PINNED = (111, 378)
"""Models that went wrong: names of a branch that stays, and captured names that changed."""


def results(path: Path, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Run a model by itself."""
    session = onnxruntime.InferenceSession(path)
    fed = {each.name: feeds[each.name] for each in session.get_inputs()}
    return list(session.run(None, fed))


@pytest.mark.parametrize("operator_list", ["base", "cann-9.0"])
def test_random_models_are_fixed(operator_list: str, tmp_path: Path) -> None:
    for seed in (*PINNED, *rounds(1, 150)):
        model, fixed = tmp_path / "model.onnx", tmp_path / f"fixed{seed}.onnx"
        onnx.save(random_model(np.random.default_rng([seed, 11])), model)
        rng = np.random.default_rng(seed)
        feeds = {name: rng.normal(size=(2, 3)).astype(np.float32) for name in "xz"}
        feeds["c"] = np.array(bool(seed % 2))
        try:
            done = atc_py.fix_model(model, fixed, operator_list=operator_list, seeds=1)
        except AtcError as error:
            # A place that is not in a sequence is an error of the model's own.
            if {each.code for each in error.diagnostics} != {REFERENCE_FAILED}:
                raise
            continue
        if done.output is None:
            continue
        for found, wanted in zip(results(fixed, feeds), results(model, feeds), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6, err_msg=str(seed))
