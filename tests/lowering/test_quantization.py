"""CANN's quantization operators from an ONNX node to numbers, through the whole compiler."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

import atc_py
from atc_py.diag import AtcError
from tests.end_to_end import run_with_atc_py
from tests.relaxed_specs import relaxed_specs

Array = npt.NDArray[Any]
Inputs = Mapping[str, Array | None]

MODES = ("force_fp16", "allow_fp32_to_fp16", "must_keep_origin_dtype")
DOMAINS = ("", "vendor.quantization")
F16, F32, I8, I16, I32, U64 = (
    np.float16, np.float32, np.int8, np.int16, np.int32, np.uint64,
)  # fmt: skip
SHAPE = (2, 3, 1, 2)
ONES = 0x3F800000


def model_of(
    op: str,
    inputs: Inputs,
    results: Sequence[type[Any] | None],
    attributes: Mapping[str, Any],
    domain: str = "",
) -> onnx.ModelProto:
    """Return a model of one node; inputs with a capital letter are initializers."""
    there = {name: array for name, array in inputs.items() if array is not None}
    shape = next(iter(there.values())).shape
    outputs = [f"y{at}" if dtype else "" for at, dtype in enumerate(results)]
    names = [name if array is not None else "" for name, array in inputs.items()]
    graph = helper.make_graph(
        [helper.make_node(op, names, outputs, name="node", domain=domain, **attributes)],
        "one",
        [_info(name, array.dtype, array.shape) for name, array in there.items() if name.islower()],
        [_info(f"y{at}", np.dtype(dtype), shape) for at, dtype in enumerate(results) if dtype],
        [onnx.numpy_helper.from_array(there[name], name) for name in there if not name.islower()],
    )
    opsets = [helper.make_opsetid("", 13), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _info(name: str, dtype: np.dtype[Any], shape: Sequence[int]) -> onnx.ValueInfoProto:
    """Return the declaration of a value."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)


def run(
    op: str,
    inputs: Inputs,
    results: Sequence[type[Any] | None],
    attributes: Mapping[str, Any],
    **options: Any,
) -> list[Array]:
    """Return the results of one node; `domain` is the node's, other options are for `convert`."""
    model = model_of(op, inputs, results, attributes, options.pop("domain", ""))
    feeds = {name: array for name, array in inputs.items() if array is not None and name.islower()}
    with tempfile.TemporaryDirectory() as folder:
        found = run_with_atc_py(model, feeds, Path(folder), **options)
    return [found[f"y{at}"] for at, dtype in enumerate(results) if dtype]


def refused(
    op: str,
    inputs: Inputs,
    results: Sequence[type[Any] | None],
    attributes: Mapping[str, Any],
    **options: Any,
) -> list[tuple[str, str, str]]:
    """Name, message and field of what conversion finds wrong with one node."""
    model = model_of(op, inputs, results, attributes)
    if options.pop("relaxed", False):
        options["op_specs"] = relaxed_specs(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(model, path)
        with pytest.raises(AtcError) as caught:
            atc_py.convert(path, Path(folder) / "model.om", **options)
    found = caught.value.diagnostics
    return [(d.code.name, d.message, (d.place and d.place.field) or "") for d in found]


def word(scale: float, offset: int = 0, shift: int = 1) -> int:
    """Return a hardware word."""
    bits = int(np.array([scale], F32).view(np.uint32)[0])
    return bits | (shift - 1) << 32 | (offset % 512) << 37


# One way through for each operator ---------------------------------------------------------------


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [F16, F32])
def test_quant(domain: str, mode: str, dtype: type[Any]) -> None:
    x = np.array([0.25, 0.75, 1.25, -1.25, 63.0, 64.0, -64.25, np.nan, np.inf], dtype)
    for round_mode, expected in (
        ("Round", [0, 2, 2, -2, 126, 127, -128, 0, 127]),
        ("Floor", [0, 1, 2, -3, 126, 127, -128, 0, 127]),
        ("Ceil", [1, 2, 3, -2, 126, 127, -128, 0, 127]),
        ("Trunc", [0, 1, 2, -2, 126, 127, -128, 0, 127]),
    ):
        attributes = {"scale": 2.0, "offset": 0.0, "round_mode": round_mode}
        (y,) = run("AscendQuant", {"x": x}, [I8], attributes, domain=domain, precision_mode=mode)
        assert (y.dtype.type, y.tolist()) == (I8, expected), round_mode


@pytest.mark.parametrize("mode", MODES)
def test_quant_computes_in_float16_whatever_x_is(mode: str) -> None:
    # 100.03 is 100.0 in float16 and rounds to even at .5; in float32 100.53 would round up
    x, attributes = np.array([100.03], F32), {"scale": 1.0, "offset": 0.5}
    assert run("AscendQuant", {"x": x}, [I8], attributes, precision_mode=mode)[0] == 100
    found = run("AscendQuant", {"x": x}, [I8], attributes, precision_mode=mode, soc="Ascend310P3")
    assert found[0] == 100


@pytest.mark.parametrize(
    ("dtype", "mode", "expected"),
    [
        (F32, "must_keep_origin_dtype", 101),
        (F32, "force_fp16", 100),  # cast before it comes to the operator
        (F16, "must_keep_origin_dtype", 100),
    ],
)
def test_quant_computes_in_float32_where_the_soc_does(
    dtype: type[Any], mode: str, expected: int
) -> None:
    x, attributes = np.array([100.03], dtype), {"scale": 1.0, "offset": 0.5}
    options: dict[str, Any] = {"precision_mode": mode, "soc": "Ascend950PR_9599"}
    assert run("AscendQuant", {"x": x}, [I8], attributes, **options)[0] == expected


def test_quant_of_float16_computes_in_float32_where_the_soc_does() -> None:
    # float16: 100.0756 becomes 100.0625, 100.5125 becomes 100.5; float32: 100.1, then 100.55
    x = np.array([1001.0], F16)
    attributes = {"scale": 0.1, "offset": 0.45}
    assert run("AscendQuant", {"x": x}, [I8], attributes)[0] == 100
    assert run("AscendQuant", {"x": x}, [I8], attributes, soc="Ascend950PR_9599")[0] == 101


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("number", "dtype"), [(None, F32), (0, F32), (1, F16)])
def test_anti_quant_subtracts_the_offset(
    domain: str, mode: str, number: int | None, dtype: type[Any]
) -> None:
    x = np.array([-128, -1, 0, 3, 127], I8)
    attributes = {"scale": 0.5, "offset": 3.0, "round_mode": "Round"}
    if number is not None:
        attributes["dtype"] = number
    (y,) = run("AscendAntiQuant", {"x": x}, [dtype], attributes, domain=domain, precision_mode=mode)
    assert (y.dtype.type, y.tolist()) == (dtype, [-65.5, -2.0, -1.5, 0.0, 62.0])
    (y,) = run("AscendAntiQuant", {"x": x}, [dtype], {**attributes, "sqrt_mode": 1})
    assert y.tolist() == [-32.75, -1.0, -0.75, 0.0, 31.0]


X32 = np.array([[[[10, -3]], [[20, 7]], [[30, 1]]], [[[1, 2]], [[3, 4]], [[5, -6]]]], I32)
FACTORS = np.array([0.5, 2.0, 0.25], F32)


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [F16, U64])
@pytest.mark.parametrize("given_as", ["SCALE", "scale"])
@pytest.mark.parametrize(("number", "dtype"), [(0, F32), (1, F16)])
def test_dequant_per_channel_and_per_tensor(
    domain: str, mode: str, kind: type[Any], given_as: str, number: int, dtype: type[Any]
) -> None:
    scale = FACTORS.astype(F16) if kind is F16 else FACTORS.view(np.uint32).astype(U64)
    options = {"domain": domain, "precision_mode": mode}
    for factors, part in ((FACTORS.reshape(3, 1, 1), scale), (FACTORS[0], scale[:1])):
        inputs: Inputs = {"x0": X32, given_as: part}
        (y,) = run("AscendDequant", inputs, [dtype], {"dtype": number}, **options)
        assert (y.dtype.type, y.tolist()) == (dtype, (X32 * factors).tolist())
        attributes = {"dtype": number, "relu_flag": 1}
        (y,) = run("AscendDequant", inputs, [dtype], attributes, **options)
        assert y.tolist() == np.maximum(X32 * factors, 0).tolist()


@pytest.mark.parametrize("mode", MODES)
def test_dequant_gives_float16_numbers_in_float32(mode: str) -> None:
    inputs: Inputs = {"x": np.array([2049], I32), "SCALE": np.array([ONES], U64)}
    (y,) = run("AscendDequant", inputs, [F32], {"dtype": 0}, precision_mode=mode)
    assert y.tolist() == [2048.0]


def test_dequant_with_sqrt_mode_multiplies_twice() -> None:
    inputs: Inputs = {"x": np.array([8], I32), "SCALE": np.array([0.5], F16)}
    assert run("AscendDequant", inputs, [F32], {"sqrt_mode": 1})[0].tolist() == [2.0]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("mode", MODES)
def test_requant_per_channel_and_per_tensor(domain: str, mode: str) -> None:
    words = np.array([word(0.5, 1), word(4.0, -2), word(0.25)], U64)
    options = {"domain": domain, "precision_mode": mode}
    (y,) = run("AscendRequant", {"x0": X32, "S": words}, [I8], {}, **options)
    expected = [[[[6, -1]], [[78, 26]], [[8, 0]]], [[[1, 2]], [[10, 14]], [[1, -2]]]]
    assert (y.dtype.type, y.tolist()) == (I8, expected)  # 30 / 4 is 7.5 and rounds to 8
    (y,) = run("AscendRequant", {"x0": X32, "S": words[:1]}, [I8], {"relu_flag": 1}, **options)
    assert y.tolist() == [[[[6, 1]], [[11, 5]], [[16, 1]]], [[[1, 2]], [[3, 3]], [[3, 1]]]]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("mode", MODES)
def test_requant_s16(domain: str, mode: str) -> None:
    x0 = np.array([[100, -100, 32767, 5]], I16)
    x1 = np.array([[1, 2, 3, -9]], I16)
    options = {"domain": domain, "precision_mode": mode}
    words = np.array([word(0.5, 1)], U64)
    (y0,) = run("AscendRequantS16", {"x0": x0, "S": words}, [I8], {}, **options)
    assert (y0.dtype.type, y0.tolist()) == (I8, [[51, -49, 127, 3]])
    inputs: Inputs = {"x0": x0, "S": words, "x1": x1}
    attributes = {"dual_output": 1, "relu_flag": 1}
    y0, y1 = run("AscendRequantS16", inputs, [I8, I16], attributes, **options)
    assert (y0.tolist(), y1.tolist()) == ([[51, 1, 127, 1]], [[101, 0, 32767, 0]])
    assert y1.dtype == I16


def test_requant_s16_whose_second_output_nobody_reads() -> None:
    inputs: Inputs = {"x0": np.array([[100, -100]], I16), "S": np.array([ONES], U64)}
    (y0,) = run("AscendRequantS16", inputs, [I8], {"dual_output": 1})
    assert y0.tolist() == [[100, -100]]
    (y0,) = run("AscendRequantS16", {**inputs, "x1": None}, [I8, None], {"dual_output": 1})
    assert y0.tolist() == [[100, -100]]
    (y1,) = run("AscendRequantS16", inputs, [None, I16], {"dual_output": 1})
    assert y1.tolist() == [[100, -100]]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("mode", MODES)
def test_dequant_s16_per_channel_and_per_tensor(domain: str, mode: str) -> None:
    x = np.array([[1000, -1000, 2**31 - 1]], I32)
    words = np.array([word(0, shift=1), word(0, shift=4), word(0, shift=16)], U64)
    options = {"domain": domain, "precision_mode": mode}
    (y,) = run("AscendDequantS16", {"x0": x, "S": words}, [I16], {}, **options)
    assert (y.dtype.type, y.tolist()) == (I16, [[500, -63, 32767]])
    inputs: Inputs = {"x0": x, "S": words[1:2], "X1": np.array([5, 6, 1], I16)}
    (y,) = run("AscendDequantS16", inputs, [I16], {"relu_flag": 1}, **options)
    assert y.tolist() == [[67, 6, 32767]]


@pytest.mark.parametrize(
    ("shape", "axis"), [((3,), 0), ((4, 3), 1), ((2, 3, 4), 1), ((2, 4, 3), 2), (SHAPE, 1)]
)
def test_channels_are_on_axis_1_or_the_last(shape: tuple[int, ...], axis: int) -> None:
    x = np.arange(np.prod(shape), dtype=I32).reshape(shape)
    (y,) = run("AscendDequant", {"x": x, "SCALE": FACTORS.astype(F16)}, [F32], {})
    expected = x * FACTORS.reshape(-1, *(1,) * (len(shape) - 1 - axis))
    assert y.tolist() == expected.tolist()


# SoCs --------------------------------------------------------------------------------------------

S16 = np.ones((1, 4), I16)
WORD = np.array([ONES], U64)


@pytest.mark.parametrize(
    ("op", "x", "result", "takes", "lacks"),
    [
        ("AscendRequant", S16.astype(I32), I8, ("Ascend310P3", "Ascend310B1", "Ascend910B1"),
         ("Ascend310", "Ascend910A", "Ascend910B")),
        ("AscendRequantS16", S16, I8, ("Ascend310P3", "Ascend610", "Hi3796CV300CS"),
         ("Ascend310", "Ascend310B1", "Ascend910B1")),
        ("AscendDequantS16", S16.astype(I32), I16, ("Ascend310P3", "Ascend610", "Hi3796CV300CS"),
         ("Ascend310", "Ascend310B1", "Ascend910B1")),
    ],
)  # fmt: skip
def test_socs_without_the_units_are_refused(
    op: str, x: Array, result: type[Any], takes: tuple[str, ...], lacks: tuple[str, ...]
) -> None:
    for soc in takes:
        assert run(op, {"x": x, "W": WORD}, [result], {}, soc=soc)[0].shape == x.shape
    for soc in lacks:
        ((name, message, _),) = refused(op, {"x": x, "W": WORD}, [result], {}, soc=soc)
        assert name == "no-kernel-for-dtype", soc
        assert f"{op} has no kernel" in message


# What is refused ---------------------------------------------------------------------------------

REAL = np.zeros((2, 3), F16)
BOTH: dict[str, Any] = {"scale": 1.0, "offset": 0.0}


def test_quant_to_what_the_operator_lacks_is_refused_by_its_rule() -> None:
    found = refused("AscendQuant", {"x": REAL}, [I8], {**BOTH, "dst_type": "INT2"})
    (message,) = (message for name, message, _ in found if name == "attr-out-of-range")
    assert "must be INT8, INT16 or INT4, found INT2" in message


@pytest.mark.parametrize(
    ("op", "inputs", "results", "attributes", "field", "words"),
    [
        ("AscendQuant", {"x": REAL}, [I8], {**BOTH, "dst_type": "INT4"}, "output 'y0'",
         "it is declared as int8, but the computed dtype is int4"),
        ("AscendQuant", {"x": REAL}, [I16], BOTH, "output 'y0'",
         "it is declared as int16, but the computed dtype is int8"),
        ("AscendQuant", {"x": REAL}, [I8], {**BOTH, "dst_type": "INT2"}, "attribute dst_type",
         "takes one of INT8, INT16, INT4 as dst_type, found INT2"),
        ("AscendQuant", {"x": REAL}, [I8], {**BOTH, "round_mode": "Rint"}, "attribute round_mode",
         "takes one of Round, Floor, Ceil, Trunc as round_mode, found Rint"),
        ("AscendAntiQuant", {"x": REAL.astype(I8)}, [F32], {**BOTH, "dtype": 2}, "attribute dtype",
         "takes 0 (float32) or 1 (float16) as dtype, found 2"),
        ("AscendAntiQuant", {"x": REAL.astype(I8)}, [F32], {**BOTH, "dtype": 1}, "output 'y0'",
         "it is declared as float32, but the computed dtype is float16"),
        ("AscendDequant", {"x": REAL.astype(I32), "s": WORD}, [F32], {"sqrt_mode": 1},
         "attribute sqrt_mode", "takes float16 factors with sqrt_mode, found uint64"),
        ("AscendDequant", {"x": REAL.astype(I32), "s": np.ones(2, F16)}, [F32], {}, "input 1",
         "needs 1 element or 1 for each channel, found int32 2x3 and float16 2"),
        ("AscendDequant", {"x": np.zeros((1, 4, 1, 1), I32), "s": np.ones((2, 2), F16)}, [F32], {},
         "input 1", "needs 1 element or 1 for each channel, found int32 1x4x1x1 and float16 2x2"),
        ("AscendRequantS16", {"x": S16, "s": WORD}, [I8, I16], {}, "output 1",
         "gives a second output with dual_output alone"),
        ("AscendRequantS16", {"x": S16, "s": WORD, "x1": S16[0]}, [I8], {}, "input x1",
         "needs x1 of the shape of x0, found int16 4"),
        ("AscendDequantS16", {"x": S16.astype(I32), "s": WORD, "x1": S16[0, :3]}, [I16], {},
         "input x1", "needs 1 element or 1 for each channel, found int32 1x4 and int16 3"),
    ],
)  # fmt: skip
def test_a_node_that_contradicts_itself_is_refused(
    op: str,
    inputs: dict[str, Array | None],
    results: list[type[Any] | None],
    attributes: dict[str, Any],
    field: str,
    words: str,
) -> None:
    found = refused(op, inputs, results, attributes, relaxed=True)
    assert [(words in message, place) for _, message, place in found] == [(True, field)], found


@pytest.mark.parametrize("missing", ["scale", "offset"])
@pytest.mark.parametrize("op", ["AscendQuant", "AscendAntiQuant"])
def test_a_missing_number_is_refused(op: str, missing: str) -> None:
    attributes = {name: value for name, value in BOTH.items() if name != missing}
    x, result = (REAL, I8) if op == "AscendQuant" else (REAL.astype(I8), F32)
    ((_, message, _),) = refused(op, {"x": x}, [result], attributes)
    assert missing in message
