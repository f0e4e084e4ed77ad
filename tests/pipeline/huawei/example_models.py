"""Models that several tests import: what atc of 2021 and of CANN 8 wrote, in small."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.pipeline.huawei.small_models import (
    FILTERS,
    IMAGES,
    MATRICES,
    SmallModel,
    Tensor,
    halves,
)

Arrays = Mapping[str, NDArray[Any]]
PIPE_KERNEL = "te_fused_op_conv2d_fix_pipe_0123456789abcdef__kernel0"


def images(*dims: int) -> Tensor:
    return Tensor(dims, layout=IMAGES)


def piped(
    path: Path, types: list[str], slots: dict[int, str], arrays: Arrays, last: str = "out"
) -> Path:
    """A convolution of 3x3 with pads of 1, and functions of the fix pipe after it."""
    made = SmallModel()
    made.input("x", images(1, 16, 6, 6))
    made.constant("w", arrays["w"], FILTERS)
    for name in arrays.keys() - {"w"}:
        made.constant(name, arrays[name])
    if "other" in slots.values():
        made.input("other", images(1, 16, 6, 6))
    inputs = [{0: "x", 1: "w", **slots}.get(at, "") for at in range(13)]
    nodes = ["conv", *(f"n{at}" for at in range(len(types) - 1)), "out"][: len(types) + 1]
    made.launch(
        "conv+", "Conv2D", inputs, images(1, 16, 6, 6), {"dilations": [1, 1, 1, 1], "groups": 1},
        nodes, types=types, kernel_name=PIPE_KERNEL, last=last,
    )  # fmt: skip
    made.output("conv+", "y")
    return made.write(path)


def chained(path: Path) -> Path:
    """A network as atc of 2021 wrote it: Conv+Tanh, Pooling, FullyConnection, TransData, Cast."""
    made = SmallModel("Ascend310")
    made.names.on = False
    made.input("x", Tensor((2, 3, 8, 8), "float32", "NCHW"))
    made.launch(
        "cast", "Cast", ["x"], Tensor((2, 3, 8, 8), layout="NCHW"), {"dst_type": 1}, operands=["x"]
    )
    made.launch(
        "trans", "TransData", ["cast"], images(2, 3, 8, 8),
        {"src_format": "NCHW", "dst_format": IMAGES}, operands=["src"],
    )  # fmt: skip
    made.constant("w", halves(4, 16, 3, 3, 3), FILTERS)
    made.constant("b", halves(5, 16))
    made.launch(
        "convtanh", "Conv2D", ["trans", "w", "b"], images(2, 16, 6, 6), {}, ["conv", "tanh"],
        kernel_name="te_fused_op_conv2d_tanh_0123456789abcdef_1__kernel0", last="tanh",
    )  # fmt: skip
    made.launch(
        "pool", "Pooling", ["convtanh"], images(2, 16, 3, 3),
        {"window": [2, 2], "stride": [2, 2], "pad": [0, 0, 0, 0], "mode": 0, "ceil_mode": 0,
         "global_pooling": False},
        ["pool"], operands=["x"],
    )  # fmt: skip
    made.constant("w2", halves(6, 10, 16, 3, 3), FILTERS)
    made.constant("b2", halves(7, 10), IMAGES)
    made.launch(
        "dense", "FullyConnection", ["pool", "w2", "b2"], Tensor((2, 10), layout=MATRICES),
        {"num_output": 10, "axis": 1, "transpose": False}, ["dense"], operands=["x", "w", "b"],
    )  # fmt: skip
    made.launch(
        "rows", "TransData", ["dense"], Tensor((2, 10)), {"src_format": MATRICES}, operands=["src"]
    )
    made.launch("wide", "Cast", ["rows"], Tensor((2, 10), "float32"), operands=["x"])
    made.output("wide", "y")
    return made.write(path, wide=False)


def partly_known(path: Path) -> Path:
    made = SmallModel()
    made.input("x", Tensor((2, 4)))
    made.launch("known", "Relu", ["x"], Tensor((2, 4)), operands=["x"])
    made.launch("odd", "NeverHeardOf", ["x"], Tensor((2, 4)), operands=["x"])
    made.launch("after", "Abs", ["odd"], Tensor((2, 4)), operands=["x"])
    made.output("known", "y")
    made.output("after", "z")
    return made.write(path)


def called(path: Path) -> Path:
    """A model whose last ops are in a graph that a PartitionedCall runs: relu(x) + bias, tanh."""
    made = SmallModel()
    made.input("x", Tensor((2, 4)))
    made.constant("bias", halves(20, 4))
    made.launch("relu", "Relu", ["x"], Tensor((2, 4)), operands=["x"])
    with made.inner("part"):
        made.parameter("p0", Tensor((2, 4)), 0)
        made.parameter("p1", Tensor((4,)), 1)
        made.launch("sum", "Add", ["p0", "p1"], Tensor((2, 4)), operands=["x1", "x2"])
        made.launch("tanh", "Tanh", ["sum"], Tensor((2, 4)), operands=["x"])
        made.results("part_Output", ["tanh"])
    made.call("call", "PartitionedCall", ["relu", "bias"], Tensor((2, 4)), ["part"])
    made.output("call", "y")
    return made.write(path)


def geared(path: Path, gears: Sequence[int] = (1, 4), stated: Sequence[int] = ()) -> Path:
    """A model of dynamic batch: y = relu(x @ w), a graph for each batch; `stated` in their place."""
    made, largest = SmallModel(), max(gears)
    made.input("x", Tensor((largest, 8)), {"_mbatch_origin_input_dims": [-1, 8]})
    made.input("ascend_mbatch_shape_data", Tensor((1,), "int32"))
    made.constant("ascend_mbatch_shape_const", np.array(gears, np.int32))
    made.launch(
        "ascend_mbatch_shape_mapindex", "MapIndex",
        ["ascend_mbatch_shape_data", "ascend_mbatch_shape_const"], Tensor((), "int32"),
        operands=["x", "data_seq"],
    )  # fmt: skip
    weights = halves(21, 8, 3)
    for at, batch in enumerate(gears):
        with made.inner(f"Batch_{at}"):
            end = f"_ascend_mbatch_batch_{at}"
            made.parameter(f"x{end}", Tensor((batch, 8)), 0)
            made.constant(f"w{end}", weights)
            made.launch(
                f"mul{end}", "MatMulV2", [f"x{end}", f"w{end}"], Tensor((batch, 3)), {},
                [f"mul{end}"], operands=["x1", "x2"],
            )  # fmt: skip
            made.launch(
                f"relu{end}", "Relu", [f"mul{end}"], Tensor((batch, 3)), {}, [f"relu{end}"],
                operands=["x"],
            )  # fmt: skip
            made.results(f"out{end}", [f"relu{end}"])
    chosen = {f"_pred_value_{at}": [batch] for at, batch in enumerate(stated or gears)}
    made.call(
        "ascend_mbatch_shape_case", "Case", ["ascend_mbatch_shape_mapindex", "x"],
        Tensor((largest, 3)), [f"Batch_{at}" for at in range(len(gears))],
        {"_batch_num": len(gears), "mbatch_dynamic_type": 1, **chosen},
    )  # fmt: skip
    made.output("ascend_mbatch_shape_case", "y")
    return made.write(path)
