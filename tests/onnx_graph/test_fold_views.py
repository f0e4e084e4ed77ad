"""Folds that only look at shapes, one by one."""

import numpy as np

from atc_py.ir import CastConst, ConstData, DenseConst, SplatConst
from atc_py.onnx_graph.folding.fold_views import VIEW_FOLDS, reshaped
from atc_py.tensor.dtypes import DType
from tests.failures import in_one_item


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def dense(*shape: int) -> DenseConst:
    return DenseConst(np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape))


@in_one_item(
    ("operator", "inputs", "attributes", "shape"),
    [
        ("Reshape", [dense(2, 3), DenseConst(ints(3, 2))], {}, (3, 2)),
        ("Reshape", [dense(2, 3), DenseConst(ints(0, -1))], {}, (2, 3)),
        ("Reshape", [dense(2, 3), DenseConst(ints(1, 0, -1))], {}, (1, 3, 2)),
        ("Reshape", [dense(2, 3)], {"shape": (-1,)}, (6,)),
        ("Reshape", [dense(0, 3), DenseConst(ints(3, 0))], {"allowzero": 1}, (3, 0)),
        ("Reshape", [dense(0, 3), DenseConst(ints(0, -1))], {}, None),
        ("Reshape", [dense(2, 3), DenseConst(ints(4, -1))], {}, None),
        ("Reshape", [dense(2, 3), DenseConst(ints(-1, -1))], {}, None),
        ("Reshape", [dense(2, 3), DenseConst(ints(-2, -3))], {}, None),
        ("Reshape", [dense(2, 3), DenseConst(ints(6, 1, 0))], {}, None),
        ("Reshape", [dense(2, 3), dense(2)], {}, None),
        ("Reshape", [dense(2, 3)], {}, None),
        ("Flatten", [dense(2, 3, 4)], {}, (2, 12)),
        ("Flatten", [dense(2, 3, 4)], {"axis": 0}, (1, 24)),
        ("Flatten", [dense(2, 3, 4)], {"axis": 3}, (24, 1)),
        ("Flatten", [dense(2, 3, 4)], {"axis": -1}, (6, 4)),
        ("Flatten", [dense(2, 3, 4)], {"axis": 4}, None),
        ("Squeeze", [dense(1, 3, 1)], {}, (3,)),
        ("Squeeze", [dense(1, 3, 1)], {"axes": (-1,)}, (1, 3)),
        ("Squeeze", [dense(1, 3, 1), DenseConst(ints(0, 2))], {}, (3,)),
        ("Squeeze", [dense(1, 3, 1)], {"axes": (1,)}, None),
        ("Squeeze", [dense(1, 3, 1)], {"axes": (3,)}, None),
        ("Unsqueeze", [dense(3)], {"axes": (0, 2)}, (1, 3, 1)),
        ("Unsqueeze", [dense(3), DenseConst(ints(-1))], {}, (3, 1)),
        ("Unsqueeze", [dense(3)], {"axes": (0, -3)}, None),
        ("Unsqueeze", [dense(3)], {}, None),
        ("Unsqueeze", [dense(3)], {"axes": tuple(range(32))}, None),
        ("Reshape", [dense(1)], {"shape": (1,) * 33}, None),
        ("Reshape", [dense(1), SplatConst(1, DType.INT64, (2**40,))], {}, None),
        ("Transpose", [dense(2, 3, 4)], {}, (4, 3, 2)),
        ("Transpose", [dense(2, 3, 4)], {"perm": (0, 2, 1)}, (2, 4, 3)),
        ("Transpose", [dense(2, 3, 4)], {"perm": (0, 0, 1)}, None),
    ],
)
def test_view_folds_or_leaves_the_node(
    operator: str,
    inputs: list[ConstData],
    attributes: dict[str, int | tuple[int, ...]],
    shape: tuple[int, ...] | None,
) -> None:
    folded = VIEW_FOLDS[operator](inputs, attributes)
    assert (None if folded is None else folded.shape) == shape
    if folded is not None and operator != "Transpose":
        assert folded.numpy().reshape(-1).tolist() == inputs[0].numpy().reshape(-1).tolist()


def test_reshaped_constant_of_any_kind_keeps_its_data() -> None:
    consts: list[ConstData] = [
        dense(2, 3),
        SplatConst(1, DType.INT8, (2, 3)),
        CastConst(dense(2, 3), DType.INT8),
    ]
    for const in consts:
        view = reshaped(const, (3, 2))
        assert view.dtype is const.dtype
        assert np.array_equal(view.numpy(), const.numpy().reshape(3, 2))
