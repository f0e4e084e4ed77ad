"""Valid models are fixed without accusing a rule; verdicts are those of `check`, and what is written loads."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import atc_py
from tests.fix.valid_draws import KINDS
from tests.sampling import rounds

onnxruntime = pytest.importorskip("onnxruntime")


def loads(path: Path) -> bool:
    """Return True if onnxruntime takes a model."""
    try:
        onnxruntime.InferenceSession(path)
    except Exception:  # noqa: BLE001  (onnxruntime raises its own)
        return False
    return True


@pytest.mark.usefixtures("base_list")
@pytest.mark.parametrize("kind", KINDS)
def test_valid_models_are_fixed_and_judged_as_check_does(kind: str, tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    for seed in rounds(1, 24):
        onnx.save(KINDS[kind](np.random.default_rng([seed, 5])), model)
        fixed = tmp_path / f"fixed{seed}.onnx"
        done = atc_py.fix_model(model, fixed, seeds=1)
        after = fixed if done.output else model
        verdicts = [atc_py.check_models(each).standing.value for each in (model, after)]
        assert list(done.verdicts) == verdicts, seed
        assert done.output is None or loads(fixed) or not loads(model), seed
        assert bool(done.left) == (verdicts[1] == "error"), seed


ONE_VERDICT = {
    "rank": f"(float[{','.join('1' * 33)}] x) => (y) {{ y = Relu (x) }}",
    "pads": "(float[4] x) => (y) <int64[2] p = {-4611686018427387904, 4611686018427387904}>"
    " { y = Pad (x, p) }",
}


@pytest.mark.parametrize("name", ONE_VERDICT)
def test_fix_sees_the_errors_that_check_sees(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    text = f'<ir_version: 8, opset_import: ["" : 13]> g {ONE_VERDICT[name]}'
    onnx.save(onnx.parser.parse_model(text), path)
    done = atc_py.fix_model(path)
    (check,) = atc_py.check_models(path).models
    assert done.verdicts == ("error", "error")
    assert [each.code for each in done.left] == [each.code.id for each in check.findings]
    assert done.output is None
    assert not done.is_sound
