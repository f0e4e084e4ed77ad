"""Records of scales and offsets: written, read in place of calibrating, refused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_QUANT_RECORD, QUANT_FIELD_NOT_MODELED
from atc_py.diag.diagnostic import Code
from atc_py.quantizing.options import CalibrationOptions
from atc_py.quantizing.recorded import calibrated_by_record, write_record
from tests.quantizing.float_networks import FloatSketch, conv_network, run_ort, samples_of
from tests.quantizing.test_prepare import norm_products, pair_network

SHAPES: dict[Callable[[Path], Path], tuple[int, ...]] = {
    conv_network: (1, 3, 16, 16),
    pair_network: (1, 3, 12, 12),
}


@pytest.mark.parametrize("make", list(SHAPES))
def test_record_is_read_back_to_the_same_bytes_and_model(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    model, record = make(tmp_path / "n.onnx"), tmp_path / "r.txt"
    samples = samples_of(4, *SHAPES[make])
    first, second = tmp_path / "a.onnx", tmp_path / "b.onnx"
    atc_py.quantize(
        model, first, data=samples, record=record, format="qdq", skip_last=1, correct_bias=False
    )
    done = atc_py.quantize(model, second, record=record, format="qdq")
    assert (done.samples, done.calibrator) == (0, "")
    assert first.read_bytes() == second.read_bytes()
    with calibrated_by_record(model, record, CalibrationOptions()) as found:
        write_record(found, tmp_path / "again.txt")
    assert (tmp_path / "again.txt").read_bytes() == record.read_bytes()


def test_layers_without_an_entry_stay_in_floats(tmp_path: Path) -> None:
    model, record = conv_network(tmp_path / "n.onnx"), tmp_path / "r.txt"
    record.write_text(
        'record { key: "y_Gemm" value { scale_d: 0.05 offset_d: 3 scale_w: 0.01 offset_w: 0 } }'
    )
    done = atc_py.quantize(model, tmp_path / "out.onnx", record=record, format="qdq")
    assert [each.name for each in done.layers if each.scale is not None] == ["y_Gemm"]
    assert done.written[0].integer_layers == 1
    sample = samples_of(1, 1, 3, 16, 16)[0]
    assert np.isfinite(run_ort(tmp_path / "out.onnx", sample)[0]).all()


def test_average_pool_has_a_weight_of_1(tmp_path: Path) -> None:
    """AMCT writes records of AveragePool so."""
    net = FloatSketch()
    net.add("AveragePool", [net.input("x", [1, 20, 8, 8])], "y", kernel_shape=[2, 2])
    model, record = net.save(tmp_path / "n.onnx", "y"), tmp_path / "r.txt"
    samples = samples_of(4, 1, 20, 8, 8)
    atc_py.quantize(model, tmp_path / "a.onnx", data=samples, record=record, measure=0)
    assert "scale_w: 1\n" in record.read_text()
    assert "offset_w: 0\n" in record.read_text()
    atc_py.quantize(model, tmp_path / "b.onnx", record=record)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_scales_of_weights_may_be_left_out(tmp_path: Path) -> None:
    model, record = conv_network(tmp_path / "n.onnx"), tmp_path / "r.txt"
    record.write_text('record { key: "y_Gemm" value { scale_d: 0.05 offset_d: 3 } }')
    done = atc_py.quantize(model, tmp_path / "out.onnx", record=record)
    assert done.written[0].integer_layers == 1


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("scale_d: 0 offset_d: 0", BAD_QUANT_RECORD),
        ("scale_d: 0.1 offset_d: 128", BAD_QUANT_RECORD),
        ("scale_d: 0.1", BAD_QUANT_RECORD),
        (
            "scale_d: 0.1 offset_d: 0 scale_w: 1 scale_w: 2 offset_w: 0 offset_w: 0",
            BAD_QUANT_RECORD,
        ),
        ("scale_d: 0.1 offset_d: 0 scale_w: 1 offset_w: 0 shift_bit: 3", QUANT_FIELD_NOT_MODELED),
        ('scale_d: 0.1 offset_d: 0 dst_type: "INT16"', QUANT_FIELD_NOT_MODELED),
        (f"scale_d: 0.1 offset_d: 0 {'tensor_balance_factor: 2 ' * 16}", BAD_QUANT_RECORD),
    ],
)
def test_record_that_does_not_fit(tmp_path: Path, value: str, code: Code) -> None:
    model, record = conv_network(tmp_path / "n.onnx"), tmp_path / "r.txt"
    record.write_text(f'record {{ key: "y_Gemm" value {{ {value} }} }}')
    with pytest.raises(AtcError) as refused:
        atc_py.quantize(model, tmp_path / "out.onnx", record=record)
    assert [each.code for each in refused.value.diagnostics] == [code]
    assert not (tmp_path / "out.onnx").exists()


def test_record_of_smoothed_products(tmp_path: Path) -> None:
    model, record = norm_products(tmp_path / "n.onnx", written_out=False), tmp_path / "r.txt"
    samples = samples_of(4, 1, 5, 32)
    first, second = tmp_path / "a.onnx", tmp_path / "b.onnx"
    atc_py.quantize(model, first, data=samples, record=record, format="qdq")
    assert "tensor_balance_factor" in record.read_text()
    atc_py.quantize(model, second, record=record, format="qdq")
    assert first.read_bytes() == second.read_bytes()
