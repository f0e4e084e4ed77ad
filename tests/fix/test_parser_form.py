"""What is written keeps the rules of CANN's parser, and computes what the original does."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from atc_py import api
from atc_py.check.parser_rules import model_findings
from atc_py.onnx_graph.reading.parser_breaks import broken_rules
from atc_py.onnx_graph.reading.read import read_model
from tests import parser_models as models
from tests.end_to_end import run_with_onnxruntime
from tests.parser_models import MODELS

_UNAVOIDABLE = ("no-inputs", "output-without-input", "element-type")
_FIXED = {name: make for name, make in MODELS.items() if name.split()[0] not in _UNAVOIDABLE}
_FIXED["numbers-one-by-one"] = models.one_by_one


def _unnamed(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model without names of nodes, which onnxruntime wants to be unique, too."""
    plain = onnx.ModelProto()
    plain.CopyFrom(proto)
    for node in plain.graph.node:
        node.name = ""
    return plain


@pytest.mark.parametrize("for_cann", [True, False])
@pytest.mark.parametrize("name", _FIXED)
def test_fix_writes_what_the_parser_takes(name: str, for_cann: bool, tmp_path: Path) -> None:
    before = _FIXED[name]()
    onnx.save(before, tmp_path / "m.onnx")
    api.fix_model(tmp_path / "m.onnx", tmp_path / "o.onnx", for_cann=for_cann, cann="6", seeds=1)
    after = onnx.load(tmp_path / "o.onnx")
    file = read_model(tmp_path / "o.onnx")
    assert model_findings(broken_rules(file), "", "9.1") == ()
    assert model_findings(broken_rules(file), "", "6") == ()
    generator = np.random.default_rng(0)
    for chosen in (True, False):
        feeds = {
            each.name: np.array(chosen)
            if each.name == "cond"
            else generator.standard_normal(
                [dim.dim_value for dim in each.type.tensor_type.shape.dim]
            ).astype(np.float32)
            for each in before.graph.input
        }
        expected = run_with_onnxruntime(_unnamed(before), feeds)
        found = run_with_onnxruntime(after, feeds)
        for output, array in expected.items():
            np.testing.assert_array_equal(found[output], array)


def test_data_of_branches_goes_into_the_file(tmp_path: Path) -> None:
    (tmp_path / "c.bin").write_bytes(np.ones(4, np.float32).tobytes())
    onnx.save(models.external("offset", "0", in_branch=True), tmp_path / "m.onnx")
    api.fix_model(tmp_path / "m.onnx", tmp_path / "o.onnx", for_cann=True)
    assert model_findings(broken_rules(read_model(tmp_path / "o.onnx")), "", "9.1") == ()


def test_record_names_the_rules(tmp_path: Path) -> None:
    onnx.save(models.foreign_import(), tmp_path / "m.onnx")
    done = api.fix_model(tmp_path / "m.onnx", tmp_path / "o.onnx", for_cann=True)
    assert done.reformed == ("parser/several-imports",)
    assert done.verdicts == ("parser", "supported")
    assert done.is_sound
    assert done.outputs
