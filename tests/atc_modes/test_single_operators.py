"""`--singleop`: operators compiled one by one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atc_py
from atc_py.adapters.atc.modes.single_op_file import SingleOp, SingleOpTensor
from atc_py.adapters.atc.modes.single_operators import compile_single_operators
from atc_py.diag import AtcError, Diagnostic
from atc_py.options.compile_options import CompileOptions, PrecisionMode
from atc_py.tensor.dtypes import DType


def tensor(shape: list[int], type_: str = "float16", format_: str = "ND", **more: Any) -> Any:
    """Return the description of a tensor."""
    return {"format": format_, "shape": shape, "type": type_, **more}


def add(**more: Any) -> dict[str, Any]:
    """Return the operator of ATC's own example."""
    return {
        "op": "Add",
        "input_desc": [tensor([3, 3], "int32"), tensor([3, 3], "int32")],
        "output_desc": [tensor([3, 3], "int32")],
        **more,
    }


def attr(name: str, type_: str, value: object) -> dict[str, object]:
    """Return an attribute."""
    return {"name": name, "type": type_, "value": value}


CONV = {
    "op": "Conv2D",
    "input_desc": [tensor([1, 3, 8, 8], format_="NCHW"), tensor([4, 3, 3, 3], format_="NCHW")],
    "output_desc": [tensor([1, 4, 8, 8], format_="NCHW")],
    "attr": [
        attr("strides", "list_int", [1, 1, 1, 1]),
        attr("pads", "list_int", [1, 1, 1, 1]),
        attr("dilations", "list_int", [1, 1, 1, 1]),
    ],
}
MATMUL = {
    "op": "MatMul",
    "input_desc": [
        tensor([2, 3], "float"),
        tensor([3, 4], "float"),
        tensor([], "UNDEFINED", "RESERVED"),
    ],
    "output_desc": [tensor([2, 4], "float")],
    "attr": [attr("transpose_x1", "bool", value=False), attr("transpose_x2", "bool", value=False)],
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)


def compiled(*ops: object, soc: str = "sim") -> list[Path]:
    """Compile operators."""
    Path("ops.json").write_text(json.dumps(list(ops)), encoding="utf-8")
    options = CompileOptions(soc=soc, precision_mode=PrecisionMode.MUST_KEEP_ORIGIN_DTYPE)
    return compile_single_operators(Path("ops.json"), Path("out/models"), options)


def refused(*ops: object) -> Diagnostic:
    """Return the one finding about operators; nothing is written for them."""
    with pytest.raises(AtcError) as caught:
        compiled(*ops)
    assert not list(Path("out").rglob("*.om"))
    return caught.value.diagnostics[0]


def run(path: Path, *arrays: Any) -> Any:
    """Return the one result of an offline model for its inputs in order."""
    with atc_py.load(path) as model:
        feeds = {port.name: array for port, array in zip(model.inputs, arrays, strict=True)}
        (result,) = model.run(feeds).values()
    return result


def test_file_is_named_by_index_types_formats_and_dims() -> None:
    (path,) = compiled(add())
    assert path == Path("out/models/0_Add_3_2_3_3_3_2_3_3_3_2_3_3.om")
    a, b = np.arange(9, dtype=np.int32).reshape(3, 3), np.full((3, 3), 5, np.int32)
    np.testing.assert_array_equal(run(path, a, b), a + b)


def test_each_operator_has_a_model_of_its_own() -> None:
    paths = compiled({"compile_flag": 1}, add(), {**CONV, "name": "conv-1.x"}, MATMUL)
    assert [path.name for path in paths] == [
        "0_Add_3_2_3_3_3_2_3_3_3_2_3_3.om",
        "conv-1.x.om",
        "2_MatMul_0_2_2_3_0_2_3_4_28_40_0_2_2_4.om",
    ]
    x, w = np.ones((1, 3, 8, 8), np.float16), np.ones((4, 3, 3, 3), np.float16)
    assert run(paths[1], x, w)[0, 0, 4, 4] == 27
    a = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    b = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    result = run(paths[2], a, b)
    assert result.dtype == np.float32  # dtypes of the file are kept
    np.testing.assert_allclose(result, a @ b, rtol=1e-5)


@pytest.mark.parametrize("ends", [{}, {"shape_range": [[2, 8]]}, {"shape_range": [[2, 8], [3, 3]]}])
def test_open_dims_are_decided_by_each_run(ends: dict[str, Any]) -> None:
    opened = tensor([-1, 3], "int32", **ends)
    (path,) = compiled(add(input_desc=[opened] * 2, output_desc=[tensor([-1, 3], "int32")]))
    assert path.name == "0_Add_3_2_-1_3_3_2_-1_3_3_2_-1_3.om"
    for rows in (2, 8):
        a = np.arange(3 * rows, dtype=np.int32).reshape(rows, 3)
        np.testing.assert_array_equal(run(path, a, a), a + a)
    if ends:
        with pytest.raises(AtcError) as caught:
            run(path, *[np.zeros((9, 3), np.int32)] * 2)
        assert caught.value.diagnostics[0].code.name == "run-input-mismatch"


def test_constant_is_part_of_the_model() -> None:
    op = add()
    op["input_desc"][1] |= {"is_const": True, "const_value": list(range(9))}
    (path,) = compiled(op)
    a = np.ones((3, 3), np.int32)
    np.testing.assert_array_equal(run(path, a), a + np.arange(9).reshape(3, 3))


def test_elementwise_operator_takes_any_format() -> None:
    shape = [1, 1, 2, 2, 16]
    op = add(
        input_desc=[tensor(shape, "float16", "NC1HWC0")] * 2,
        output_desc=[tensor(shape, "float16", "NC1HWC0")],
    )
    (path,) = compiled(op)
    assert path.name.startswith("0_Add_1_3_1_1_2_2_16_")
    x = np.ones(shape, np.float16)
    np.testing.assert_array_equal(run(path, x, x), x + x)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.B_1-x", "a.B_1-x.om"),
        ("a" * 130, "a" * 128 + ".om"),
        ("", "0_Abs_1_2_4_1_2_4.om"),
        ("..", "0_Abs_1_2_4_1_2_4.om"),
        ("a/b", "0_Abs_1_2_4_1_2_4.om"),
        ("a b", "0_Abs_1_2_4_1_2_4.om"),
    ],
)
def test_name_of_the_file_is_the_operators_where_it_can_be(name: str, expected: str) -> None:
    part = SingleOpTensor(DType.FLOAT16, 2, (4,))
    assert SingleOp(0, "Abs", name, (part,), (part,), ()).file_name == expected


def test_long_name_is_cut() -> None:
    part = SingleOpTensor(DType.FLOAT16, 2, (1000,) * 30)
    name = SingleOp(0, "Abs", "", (part,), (part,), ()).file_name
    assert len(name) == 128 + len(".om")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (None, "E10023"),
        ("[", "E10025"),
        ("{}", "E10032"),
        ("[1]", "E10032"),
        ('[{"op": 1}]', "E10032"),
        ('[{"op": "Add", "input_desc": [{"shape": [1]}]}]', "E10032"),
        ('[{"op": "Add", "input_desc": [{"shape": ["a"], "format": "ND", "type": "int8"}]}]',
         "E10032"),
        ('[{"op": "Add", "attr": [{"type": "int", "value": 1}]}]', "E10032"),
        ('[{"op": "", "input_desc": []}]', "E10026"),
        ('[{"input_desc": []}]', "E10026"),
        ('[{"op": "Add", "name": "\\ud800"}]', "E10032"),
        ("[" * 100_000, "E10025"),
    ],
)  # fmt: skip
def test_file_that_makes_no_sense_is_refused(text: str | None, code: str) -> None:
    if text is not None:
        Path("ops.json").write_text(text, encoding="utf-8")
    with pytest.raises(AtcError) as caught:
        compile_single_operators(Path("ops.json"), Path("out"), CompileOptions())
    (found,) = caught.value.diagnostics
    assert found.atc is not None
    assert found.atc.code == code
    assert not Path("out").exists()


def test_file_that_cannot_be_read_is_e10024() -> None:
    Path("ops.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AtcError) as caught:
        compile_single_operators(Path("ops.json"), Path("out"), CompileOptions())
    assert caught.value.diagnostics[0].atc is not None
    assert caught.value.diagnostics[0].atc.code == "E10024"


@pytest.mark.parametrize(
    ("change", "code", "arguments"),
    [
        ({"input_desc": [tensor([3, 3], "float99"), tensor([3, 3], "int32")]},
         "E10027", ("datatype", "input", "0", "Add")),
        ({"input_desc": [tensor([3, 3], "int32"), tensor([3, 3], "int32", "XYZ")]},
         "E10027", ("format", "input", "1", "Add")),
        ({"input_desc": [tensor([3, 3], "float99", "XYZ")]},
         "E10027", ("dataType or format", "input", "0", "Add")),
        ({"output_desc": [tensor([], "UNDEFINED", "RESERVED")]},
         "E10027", ("datatype", "output", "0", "Add")),
        ({"attr": [attr("", "int", 1)]}, "E10029", ("Add",)),
        ({"attr": [attr("a", "list_list_float", 1)]}, "E10030", ("a", "Add")),
        ({"attr": [attr("novelty", "int", 1)]}, "E10030", ("novelty", "Add")),
        ({"op": "Addd"}, "E10501", None),
        ({"input_desc": [tensor([3, 3], "int32")]}, "E13014", None),
        ({"output_desc": []}, "E13014", None),
        ({"input_desc": [tensor([-2], "int32"), tensor([3, 3], "int32")]}, "E10055", None),
        ({"input_desc": [tensor([-1, 3], "int32", is_const=True, const_value=[1, 2, 3])] * 2},
         "E10027", ("shape", "input", "0", "Add")),
        *(
            ({"input_desc": [tensor([-1, 3], "int32", shape_range=ends)] * 2},
             "E10027", ("shape_range", "input", "0", "Add"))
            for ends in ([], 5, [[1, 2]] * 3, [[1]], [[4, 2]], [["1", 2]], [[-1, 2]], [None])
        ),
        ({"input_desc": [tensor([3], "complex64"), tensor([3], "int32")]}, "E10055", None),
    ],
)  # fmt: skip
def test_operator_that_makes_no_sense_is_refused(
    change: dict[str, Any], code: str, arguments: tuple[str, ...] | None
) -> None:
    found = refused(add(**change))
    assert found.atc is not None
    assert found.atc.code == code
    assert arguments is None or found.atc.arguments == arguments


def test_unknown_operator_has_the_nearest_names() -> None:
    assert "Add" in (refused(add(op="Addd")).help or "")


@pytest.mark.parametrize(
    "change",
    [
        {"output_desc": [tensor([3, 4], "int32")]},
        {"output_desc": [tensor([3, 3], "float")]},
        {
            "input_desc": [tensor([-1, 3], "int32")] * 2,
            "output_desc": [tensor([-1, 4], "int32")],
        },
        {"input_desc": [tensor([3, 3], "int32"), tensor([4, 4], "int32")]},
        {"input_desc": [tensor([3, 3], "int32"), tensor([3, 3], "float")]},
    ],
)
def test_types_that_do_not_follow_from_the_inputs_are_refused(change: dict[str, Any]) -> None:
    found = refused(add(**change))
    assert found.code.name == "bad-node"
    assert found.place is not None
    assert found.place.op_type == "Add"


def test_operator_without_a_kernel_on_the_soc_is_refused() -> None:
    conv = {**CONV, "input_desc": [tensor([1, 3, 8, 8], "float"), tensor([4, 3, 3, 3], "float")]}
    conv["output_desc"] = [tensor([1, 4, 8, 8], "float")]
    with pytest.raises(AtcError) as caught:
        compiled(conv, soc="Ascend310P3")
    assert caught.value.exit_code == 1


def test_blocked_format_is_refused_where_positions_matter() -> None:
    conv = {
        **CONV,
        "input_desc": [tensor([1, 1, 8, 8, 16], format_="NC1HWC0"), *CONV["input_desc"][1:]],
    }
    found = refused(conv)
    assert found.atc is not None
    assert found.atc.code == "E10055"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1, 2], "const_value has 2 elements, the shape has 9"),
        ([1] * 8 + [2**31], "2147483648 is not a value of int32"),
        ([1] * 8 + [0.5], "0.5 is not a value of int32"),
    ],
)
def test_constant_that_does_not_fit_is_refused(values: list[float], reason: str) -> None:
    op = add()
    op["input_desc"][1] |= {"is_const": True, "const_value": values}
    assert reason in refused(op).message


def test_two_operators_of_one_name_are_refused() -> None:
    assert "operators 0 and 1" in refused(add(name="a"), add(name="a")).message


def test_mode_of_precision_is_taken() -> None:
    Path("ops.json").write_text(json.dumps([MATMUL]), encoding="utf-8")
    options = CompileOptions(precision_mode=PrecisionMode.FORCE_FP16)
    (path,) = compile_single_operators(Path("ops.json"), Path("out"), options)
    a, b = np.full((2, 3), 1 + 2**-12, np.float32), np.ones((3, 4), np.float32)
    result = run(path, a, b)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, np.full((2, 4), 3, np.float32))


GEMM = {
    "op": "GEMM",
    "input_desc": [tensor([16, 16]), tensor([16, 16]), tensor([16, 16]), tensor([]), tensor([])],
    "output_desc": [tensor([16, 16])],
    "attr": [attr("transpose_a", "bool", value=False), attr("transpose_b", "bool", value=False)],
}
"""Huawei's own sample of a product with two factors."""


@pytest.mark.parametrize("soc", ["sim", "Ascend310", "Ascend310P3", "Ascend910B4"])
def test_gemm_of_huaweis_sample_rounds_once(soc: str) -> None:
    (path,) = compiled(GEMM, soc=soc)
    assert path.name.startswith("0_GEMM_1_2_16_16_1_2_16_16_1_2_16_16_1_2_1_2_")
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal((16, 16)).astype(np.float16) for _ in range(3))
    alpha, beta = np.float16(1.7), np.float16(-0.6)
    result = run(path, a, b, c, np.array(alpha), np.array(beta))
    wide = np.float32(alpha) * (np.float32(a) @ np.float32(b)) + np.float32(beta) * np.float32(c)
    assert result.dtype == np.float16
    np.testing.assert_allclose(result, wide.astype(np.float16), rtol=2**-10)
    assert np.mean(result == wide.astype(np.float16)) > 0.98  # the sums have another order


@pytest.mark.parametrize("turn", ["transpose_a", "transpose_b"])
def test_gemm_takes_either_matrix_transposed(turn: str) -> None:
    turned = turn.endswith("a")
    shapes = ([3, 2], [3, 4]) if turned else ([2, 3], [4, 3])
    op = {
        "op": "GEMM",
        "input_desc": [
            *(tensor(shape, "float") for shape in shapes),
            tensor([2, 4], "float"),
            tensor([], "float"),
            tensor([], "float"),
        ],
        "output_desc": [tensor([2, 4], "float")],
        "attr": [attr(turn, "bool", value=True)],
    }
    (path,) = compiled(op)
    a, b = (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in shapes)
    c, alpha, beta = np.ones((2, 4), np.float32), np.float32(2), np.float32(3)
    product = a.T @ b if turned else a @ b.T
    result = run(path, a, b, c, np.array(alpha), np.array(beta))
    np.testing.assert_array_equal(result, 2 * product + 3)


def test_gemm_without_a_factor_is_refused() -> None:
    found = refused({**GEMM, "input_desc": GEMM["input_desc"][:4]})
    assert found.atc is not None
    assert found.atc.code == "E13014"


def test_scores_become_float16_and_the_largest_is_found() -> None:
    cast = {
        "op": "Cast",
        "input_desc": [tensor([1000], "float")],
        "output_desc": [tensor([1000])],
        "attr": [attr("truncate", "bool", value=False), attr("dst_type", "int", 1)],
    }
    axis = tensor([1], "int32", is_const=True, const_value=[0])
    largest = {
        "op": "ArgMaxV2",
        "input_desc": [tensor([1000]), axis],
        "output_desc": [tensor([1], "int32")],
    }
    halves, position = compiled(cast, largest, soc="Ascend310P3")
    scores = np.random.default_rng(1).permutation(1000).astype(np.float32)
    np.testing.assert_array_equal(run(halves, scores), scores.astype(np.float16))
    result = run(position, scores.astype(np.float16))
    assert (result.dtype, result.shape, result[0]) == (np.int32, (1,), scores.argmax())


def test_positions_along_an_axis() -> None:
    op = {
        "op": "ArgMaxD",
        "input_desc": [tensor([3, 5])],
        "output_desc": [tensor([3], "int32")],
        "attr": [attr("dimension", "int", 1)],
    }
    (path,) = compiled(op, soc="Ascend310P3")
    x = np.random.default_rng(2).permutation(15).reshape(3, 5).astype(np.float16)
    np.testing.assert_array_equal(run(path, x), x.argmax(1))


@pytest.mark.parametrize(
    ("axis", "code"),
    [
        (tensor([1], "int32"), "E10055"),
        (tensor([1], "int32", is_const=True, const_value=[2]), "E10055"),
        (tensor([2], "int32", is_const=True, const_value=[0, 1]), "E10055"),
    ],
)
def test_axis_of_positions_is_one_that_is_known(axis: Any, code: str) -> None:
    op = {"op": "ArgMaxV2", "input_desc": [tensor([3, 5]), axis]}
    found = refused({**op, "output_desc": [tensor([3], "int32")]})
    assert found.atc is not None
    assert found.atc.code == code


def test_convolution_in_nhwc_is_that_in_nchw() -> None:
    """Strides have the order of the format: 2 down, 1 to the right."""
    op = {
        "op": "Conv2D",
        "input_desc": [tensor([2, 9, 8, 3], format_="NHWC"), tensor([6, 3, 3, 3], format_="NCHW")],
        "output_desc": [tensor([2, 5, 8, 6], format_="NHWC")],
        "attr": [
            attr("strides", "list_int", [1, 2, 1, 1]),
            attr("pads", "list_int", [1, 1, 1, 1]),
            attr("dilations", "list_int", [1, 1, 1, 1]),
            attr("data_format", "string", "NHWC"),
        ],
    }
    turned = {
        **op,
        "input_desc": [tensor([2, 3, 9, 8], format_="NCHW"), tensor([6, 3, 3, 3], format_="NCHW")],
        "output_desc": [tensor([2, 6, 5, 8], format_="NCHW")],
        "attr": [attr("strides", "list_int", [1, 1, 2, 1]), *op["attr"][1:3]],
    }
    first, second = compiled(op, turned, soc="Ascend310P3")
    rng = np.random.default_rng(3)
    x, w = (rng.standard_normal(shape).astype(np.float16) for shape in ((2, 3, 9, 8), (6, 3, 3, 3)))
    expected = run(second, x, w)
    np.testing.assert_array_equal(
        run(first, x.transpose(0, 2, 3, 1), w).transpose(0, 3, 1, 2), expected
    )


def test_softmax_in_nhwc_is_over_the_axis_that_the_file_names() -> None:
    op = {"op": "SoftmaxV2", "input_desc": [tensor([1, 2, 2, 4], format_="NHWC")]}
    (path,) = compiled({**op, "output_desc": [tensor([1, 2, 2, 4], format_="NHWC")]})
    x = np.random.default_rng(4).standard_normal((1, 2, 2, 4)).astype(np.float16)
    np.testing.assert_allclose(run(path, x).sum(-1), 1, rtol=1e-2)


@pytest.mark.parametrize("constant", [True, False])
def test_part_of_a_tensor(*, constant: bool) -> None:
    more: dict[str, Any] = {"is_const": True, "const_value": [2, 1]} if constant else {}
    op = {
        "op": "Slice",
        "input_desc": [tensor([6, 5]), tensor([2], "int32", **more), tensor([2], "int32")],
        "output_desc": [tensor([3, 4])],
    }
    (path,) = compiled(op)
    x, offsets = np.arange(30, dtype=np.float16).reshape(6, 5), np.array([2, 1], np.int32)
    sizes = np.array([3, 4], np.int32)
    fed = (x, sizes) if constant else (x, offsets, sizes)
    np.testing.assert_array_equal(run(path, *fed), x[2:5, 1:5])


def test_part_of_unknown_dims_is_refused() -> None:
    op = {"op": "Slice", "input_desc": [tensor([6, 5]), *[tensor([2], "int32")] * 2]}
    found = refused({**op, "output_desc": [tensor([-1, 4])]})
    assert found.atc is not None
    assert found.atc.code == "E10055"


def _same(op: str, shape: list[int], type_: str, count: int) -> dict[str, Any]:
    """Return an operator whose tensors are all alike."""
    alike = tensor(shape, type_)
    return {"op": op, "input_desc": [alike] * count, "output_desc": [alike]}


OF_SAMPLES = [
    _same("Add", [8, 16], "int32", 2),
    _same("Pow", [2, 2], "int32", 2),
    _same("SoftmaxV2", [8, 16], "float32", 1),
    {"op": "Cast", "input_desc": [tensor([1000], "float")], "output_desc": [tensor([1000])],
     "attr": [attr("truncate", "bool", value=False), attr("dst_type", "int", 1)]},
    {"op": "ArgMaxV2",
     "input_desc": [tensor([1000]), tensor([1], "int32", is_const=True, const_value=[0])],
     "output_desc": [tensor([1], "int32")]},
    {"op": "Slice", "input_desc": [tensor([60, 30]), *[tensor([2], "int32")] * 2],
     "output_desc": [tensor([60, 30])]},
    {**CONV, "input_desc": [tensor([2, 16, 16, 3], format_="NHWC"), tensor([6, 3, 3, 3], format_="NCHW")],
     "output_desc": [tensor([2, 16, 16, 6], format_="NHWC")]},
    GEMM,
]  # fmt: skip
"""What Huawei's public samples compile of CANN's operators, in the forms of their files."""

DEFINED_BY_SAMPLES = [
    "AddBlockCust", "AddCustom", "AddDsl", "AddMatMatElements", "AddRowRanges", "Blast", "Conv2DTik",
    "MatmulTik", "ReshapeCust",
]  # fmt: skip
"""Operators whose kernels are part of the samples."""


@pytest.mark.parametrize("soc", ["Ascend310", "Ascend310B4"])
def test_operators_of_huaweis_samples_compile(soc: str) -> None:
    assert len(compiled(*OF_SAMPLES, soc=soc)) == len(OF_SAMPLES)


@pytest.mark.parametrize("op", DEFINED_BY_SAMPLES)
def test_operators_that_samples_define_are_unknown(op: str) -> None:
    found = refused({**_same(op, [8, 16], "float16", 2)})
    assert found.atc is not None
    assert found.atc.code == "E10501"
