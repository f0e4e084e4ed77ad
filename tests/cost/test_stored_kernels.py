"""Tables of msprof whose kernels are stored in blocks, as boards have them."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from atc_py.cost.measurements import LeftOut, read_measurements
from atc_py.cost.operation import LaunchGroup, Operation
from atc_py.cost.work import work_of
from atc_py.diag import AtcError
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from atc_py.tensor.storage import Storage, stored_shape

HEAD = (
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),"
    "Task Duration(us),Task Wait Time(us),Block Dim,Input Shapes,Input Data Types,Input Formats,"
    "Output Shapes,Output Data Types,Output Formats"
)
Side = Sequence[tuple[Shape, str, str]]  # dims of what is stored, dtype, format
NC1HWC0, FRACTAL_Z, FRACTAL_NZ = Format.NC1HWC0, Format.FRACTAL_Z, Format.FRACTAL_NZ


def line(task: int, op: str, ins: Side, outs: Side, unit: str = "AI_CORE", time: str = "20") -> str:
    """A row as msprof writes it: marks around dims, a tab after the start."""
    texts = []
    for side in (ins, outs):
        dims, dtypes, formats = zip(*side, strict=True)
        shapes = ";".join(",".join(map(str, shape)) for shape in dims)
        texts += [f'"""{shapes}"""', ";".join(dtypes), ";".join(formats)]
    start = f'"17364139715{task:05}.9\t"'
    return f"0,1,{task},1,n{task},{op},static,{unit},{start},{time},0.5,8,{','.join(texts)}"


def in_blocks(
    shape: Shape, storage: Storage, name: str = "FLOAT16", *, of: Format = Format.NCHW
) -> tuple[Shape, str, str]:
    dims = stored_shape(shape, of, storage, DType.parse(name.lower()))
    return tuple(dim or 0 for dim in dims), name, storage.format.value


def launches(
    folder: Path, *rows: str, left_out: Counter[LeftOut] | None = None
) -> list[LaunchGroup]:
    path = folder / "op_summary_0.csv"
    path.write_text("\n".join([HEAD, *rows]))
    return [each.launch for each in read_measurements(path, left_out, least=1)]


def only(folder: Path, op: str, ins: Side, outs: Side) -> Operation:
    (launch,) = launches(folder, line(1, op, ins, outs))
    return launch.operations[0]


@pytest.mark.parametrize(
    ("filters", "groups", "strides"),
    [((64, 64, 3, 3), 1, 2), ((128, 16, 1, 5), 4, 1), ((64, 4, 3, 3), 16, 1)],
)
def test_convolution_in_blocks_is_that_of_its_logical_dims(
    filters: Shape, groups: int, strides: int, tmp_path: Path
) -> None:
    """Groups that share a block diagonal are one: 16 of 4 channels are 4 of 16."""
    data = 2, filters[1] * groups, 56, 56
    out = 2, filters[0], 56 // strides, 56 // strides
    found = only(
        tmp_path,
        "Conv2D",
        [
            in_blocks(data, Storage(NC1HWC0)),
            in_blocks(filters, Storage(FRACTAL_Z, groups)),
            ((filters[0],), "FLOAT16", "ND"),
        ],
        [in_blocks(out, Storage(NC1HWC0))],
    )
    assert found.inputs[0] is not None
    assert found.inputs[0].shape == data
    assert found.outputs[0].shape == out
    assert found.numbers("strides") == (1, 1, strides, strides)
    product = work_of(found).product
    assert product is not None
    merged = max(1, 16 // filters[1]) if groups > 1 else 1
    assert product.macs == 2 * out[2] * out[3] * filters[0] * filters[1] * merged * (
        filters[2] * filters[3]
    )


def test_channels_of_blocks_are_whole_and_pictures_exact(tmp_path: Path) -> None:
    found = only(
        tmp_path,
        "Conv2D",
        [
            ((1, 1, 224, 224, 16), "FLOAT16", "NC1HWC0"),
            ((49, 4, 16, 16), "FLOAT16", "FRACTAL_Z"),
            ((), "UNDEFINED", "ND"),
        ],
        [((1, 4, 112, 112, 16), "FLOAT16", "NC1HWC0")],
    )
    shapes = [None if each is None else each.shape for each in found.inputs]
    assert shapes == [(1, 16, 224, 224), (64, 16, 49, 1), None]
    assert found.outputs[0].shape == (1, 64, 112, 112)
    assert found.outputs[0].nbytes == 2 * 64 * 112 * 112


def test_int8_depthwise_volume_and_transposed_filters_have_their_taps(tmp_path: Path) -> None:
    cases: list[tuple[str, Side, tuple[Shape, str, str], int]] = [
        ("Conv2D", [((1, 2, 8, 8, 32), "INT8", "NC1HWC0"), ((18, 1, 16, 32), "INT8", "FRACTAL_Z")],
         ((1, 1, 8, 8, 32), "INT8", "NC1HWC0"), 64 * 16 * 64 * 9),
        ("DepthwiseConv2D", [((1, 4, 8, 8, 16), "FLOAT16", "NC1HWC0"), ((36, 1, 16, 16), "FLOAT16", "FRACTAL_Z")],
         ((1, 4, 8, 8, 16), "FLOAT16", "NC1HWC0"), 64 * 64 * 9),
        ("DepthwiseConv2D", [((1, 4, 8, 8, 16), "FLOAT16", "NC1HWC0"), ((4, 3, 3, 1, 16, 16), "FLOAT16", "C1HWNCoC0")],
         ((1, 4, 8, 8, 16), "FLOAT16", "NC1HWC0"), 64 * 64 * 9),
        ("Conv3D", [((1, 4, 2, 8, 8, 16), "FLOAT16", "NDC1HWC0"), ((54, 1, 16, 16), "FLOAT16", "FRACTAL_Z_3D")],
         ((1, 4, 1, 8, 8, 16), "FLOAT16", "NDC1HWC0"), 4 * 64 * 16 * 32 * 27),
        ("Conv2DTransposeD", [((1, 2, 8, 8, 16), "FLOAT16", "NC1HWC0"), ((4, 2, 16, 16), "FLOAT16", "FRACTAL_Z")],
         ((1, 1, 16, 16, 16), "FLOAT16", "NC1HWC0"), 64 * 32 * 16 * 4),
        ("Conv2D", [((1, 8, 8, 64), "FLOAT16", "NHWC"), ((3, 3, 64, 16), "FLOAT16", "HWCN")],
         ((1, 8, 8, 16), "FLOAT16", "NHWC"), 64 * 16 * 64 * 9),
    ]  # fmt: skip
    for op, ins, out, macs in cases:
        product = work_of(only(tmp_path, op, ins, [out])).product
        assert product is not None
        asked = product.macs if product.asked is None else product.asked
        assert asked == macs, (op, ins)


def test_matrices_in_blocks_multiply(tmp_path: Path) -> None:
    nd = Format.ND
    found = only(
        tmp_path,
        "MatMulV2",
        [in_blocks((30, 256), Storage(FRACTAL_NZ), of=nd), in_blocks((256, 40), Storage(FRACTAL_Z), of=nd)],
        [in_blocks((30, 40), Storage(FRACTAL_NZ), of=nd)],
    )  # fmt: skip
    assert [each.shape for each in found.tensors] == [(32, 256), (256, 48), (32, 48)]


def test_what_no_fit_takes_is_left_out_by_kind(tmp_path: Path) -> None:
    plain = [((64, 64), "FLOAT16", "ND")]
    odd = [((64, 64), "FLOAT16", "NC1HWC0")]
    rows = [
        line(1, "Relu", plain, plain),
        line(2, "Relu", odd, plain),
        line(3, "Relu", odd, plain),
        line(4, "TopKV2", plain, plain, unit="AI_CPU"),
        line(5, "Mish", plain, plain),
        line(6, "Relu", [((64,), "COMPLEX", "ND")], plain),
        line(7, "hcom_broadcast_", plain, plain, time="N/A"),
        line(8, "Conv2D", plain, plain),
        line(9, "MatMulV2", [*plain, ((32, 8), "FLOAT16", "ND")], plain),
        line(10, "Add", [((), "FLOAT", "ND"), ((), "FLOAT", "ND")], [((), "FLOAT", "ND")]),
    ]
    left_out: Counter[LeftOut] = Counter()
    assert len(launches(tmp_path, *rows, left_out=left_out)) == 2
    assert left_out == {
        ("Relu", "its dims are not those of NC1HWC0"): 2,
        ("TopKV2", "AI_CPU runs it, not the AI Core"): 1,
        ("Mish", "no target operator launches it"): 1,
        ("Relu", "no dtype is called 'COMPLEX'"): 1,
        ("Conv2D", "its data, filter or result is missing"): 1,
        ("MatMulV2", "its dims are not those of MatMulV2"): 1,
    }
    with pytest.raises(AtcError, match=r"found 0; its dims are not those of NC1HWC0: Relu \(2\)"):
        launches(tmp_path, *rows[1:3])


@pytest.mark.parametrize(
    ("ins", "out"),
    [
        ([((1, 64, 8, 8), "FLOAT16", "NCHW"), ((64,), "FLOAT16", "ND")], ((1, 64, 8, 8), "FLOAT16", "NCHW")),
        ([((1, 64, 8, 8), "FLOAT16", "NCHW"), ((64, 64, 3, 3), "FLOAT16", "NCHW")], ((64,), "FLOAT16", "ND")),
        ([((64,), "FLOAT16", "ND"), ((36, 4, 16, 16), "FLOAT16", "FRACTAL_Z")], ((1, 4, 8, 8, 16), "FLOAT16", "NC1HWC0")),
    ],
)  # fmt: skip
def test_convolution_with_tensors_of_one_dim_is_left_out(
    ins: Side, out: tuple[Shape, str, str], tmp_path: Path
) -> None:
    left_out: Counter[LeftOut] = Counter()
    plain = [((64, 64), "FLOAT16", "ND")]
    rows = line(1, "Conv2D", ins, [out]), line(2, "Relu", plain, plain)
    assert len(launches(tmp_path, *rows, left_out=left_out)) == 1
    assert left_out == {("Conv2D", "its dims are not those of a convolution"): 1}


def test_executions_are_one_measurement_without_the_first(tmp_path: Path) -> None:
    plain = [((4096, 64), "FLOAT", "FORMAT_ND")]
    path = tmp_path / "op_summary_0.csv"
    rows = [line(1, "Relu", plain, plain, time=time) for time in ("900", "10", "30", "20")]
    path.write_text("\n".join([HEAD, *rows]))
    (found,) = read_measurements(path, least=1)
    assert found.seconds == pytest.approx(20e-6)
    assert found.launch.operations[0].tensors[0].dtype is DType.FLOAT32
