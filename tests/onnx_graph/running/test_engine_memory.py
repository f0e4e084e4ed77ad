"""What an engine would take for a model's nodes is counted before it runs them."""

from pathlib import Path

import onnx
import onnx.parser
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import MEMORY_LIMIT
from atc_py.onnx_graph.running.engines import require_engine_memory

HEAD = '<ir_version: 8, opset_import: ["": 13]> g '
LOSS = (
    HEAD
    + """(int32[2] labels, float[2, 8388608] scores) => (float[] y)
    { y = SoftmaxCrossEntropyLoss (scores, labels) }"""
)
GROWN = (
    HEAD
    + """(float[1, 1, 4, 4] x) => (float[1, 1, n, m] y) <float[1, 1, 2, 2] w = {1.0, 1.0, 1.0, 1.0}>
    { y = ConvTranspose <strides = [4194304, 2]> (x, w) }"""
)


@pytest.mark.parametrize("text", [LOSS, GROWN])
def test_values_beyond_the_limit_are_refused(text: str) -> None:
    model = onnx.parser.parse_model(text)
    require_engine_memory(model, ("y",))
    with atc_py.limited_memory("128M"), pytest.raises(AtcError) as refused:
        require_engine_memory(model, ("y",))
    assert [each.code for each in refused.value.diagnostics] == [MEMORY_LIMIT]


@pytest.mark.usefixtures("base_list")
def test_fix_without_room_for_its_proof_writes_nothing(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(LOSS), tmp_path / "m.onnx")
    fixed = tmp_path / "fixed.onnx"
    with atc_py.limited_memory("256M"):
        with pytest.raises(AtcError, match="running the original model's nodes") as refused:
            atc_py.fix_model(tmp_path / "m.onnx", fixed, operator_list="base")
        assert not fixed.exists()
        assert "--random 0" in str(refused.value.diagnostics[0].help)
        atc_py.fix_model(tmp_path / "m.onnx", fixed, operator_list="base", seeds=0)
    assert fixed.exists()
