"""One node through the whole compiler, held to a reference on operands already rounded.

The reference computes in float32 (float64, integers: their own dtype) from what the dtype under
test can hold, so a result may differ by one rounding at its end: the table of `tolerances` has
the bounds. In force_fp16 the dtype under test is float16 whatever the model's float is.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from atc_py.tensor.dtypes import DType
from tests.device.tolerances import assert_close
from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime
from tests.relaxed_specs import relaxed_specs

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]
Oracle = Callable[[Feeds], Sequence[Array]]


KEEP, NARROW = "must_keep_origin_dtype", "force_fp16"
MODES = (KEEP, NARROW)

_NARROWED = {DType.FLOAT32, DType.BFLOAT16, DType.FLOAT16}


def compiled(model: onnx.ModelProto, feeds: Feeds, mode: str = KEEP) -> dict[str, Array]:
    """Return the model's outputs by way of the compiler, also beyond what the list allows."""
    with tempfile.TemporaryDirectory() as folder:
        specs = relaxed_specs(model)
        return run_with_atc_py(model, feeds, Path(folder), precision_mode=mode, op_specs=specs)


def agree(
    op_type: str,
    feeds: Feeds,
    opset: int,
    mode: str = KEEP,
    oracle: Oracle | None = None,
    **options: Any,
) -> None:
    """Hold one node to `oracle`, by default onnxruntime.

    Args:
        op_type: the operator.
        feeds: what is fed, in the model's dtypes.
        opset: of the model.
        mode: precision mode.
        oracle: the outputs from the rounded operands, in order.
        **options: of `one_node_model`: constants, outputs, attributes.
    """
    model = one_node_model(op_type, feeds, opset, **options)
    found = compiled(model, feeds, mode)
    rounded = {name: _rounded(array, mode) for name, array in feeds.items()}
    if oracle is not None:
        expected = list(oracle(rounded))
    else:
        wide = one_node_model(op_type, rounded, opset, **options)
        expected = list(run_with_onnxruntime(wide, rounded).values())
    for output, got, wanted in zip(model.graph.output, found.values(), expected, strict=True):
        declared = _dtype(output.type.tensor_type.elem_type)
        assert got.dtype == declared.numpy
        computed = DType.FLOAT16 if mode == NARROW and declared is DType.FLOAT32 else declared
        with np.errstate(over="ignore"):
            assert_close(got.astype(computed.numpy), wanted, computed)


def numbers(seed: int, shape: Sequence[int], dtype: str = "float32", scale: float = 1.0) -> Array:
    """Return normal numbers, or integers of a few hundreds, of either sign where there is one."""
    generator = np.random.default_rng([seed, *shape])
    kind = DType(dtype)
    if kind.is_integer:
        low = 0 if dtype.startswith("u") else -300
        return generator.integers(low, 300, shape).astype(kind.numpy)
    return np.asarray(generator.standard_normal(shape) * scale).astype(kind.numpy)


def _rounded(array: Array, mode: str) -> Array:
    """Return the device's operands, in the dtype that the reference computes in."""
    dtype = DType.from_numpy(array.dtype)
    if dtype not in _NARROWED:
        return array
    narrow = array.astype(np.float16) if mode == NARROW else array
    return np.asarray(narrow, dtype=np.float32)


def _dtype(element: int) -> DType:
    """Return the dtype of ONNX's number."""
    from onnx import helper

    return DType.from_numpy(np.dtype(helper.tensor_dtype_to_np_dtype(element)))
