"""Models that several tests import: what atc of 2021 and of CANN 8 wrote, in small."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
