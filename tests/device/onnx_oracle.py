"""onnxruntime as the oracle: one ONNX node run on given arrays, and comparison with a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, run_operator
from tests.device.tolerances import assert_close

_OPTIONS = onnxruntime.SessionOptions()
_OPTIONS.log_severity_level = 4
_OPTIONS.intra_op_num_threads = 1


@dataclass(frozen=True)
class Onnx:
    """An ONNX node: operator, attributes, opset, and inputs that only ONNX has."""

    op_type: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    opset: int = 13
    extra_inputs: Sequence[Array] = ()
    outputs: int = 1

    def run(self, arrays: Sequence[Array | None]) -> list[Array]:
        """Return the node's outputs for `arrays`."""
        given = [*arrays, *self.extra_inputs]
        fed = [None if array is None else np.asarray(array) for array in given]
        feeds = {f"x{index}": array for index, array in enumerate(fed) if array is not None}
        names = [f"x{index}" if array is not None else "" for index, array in enumerate(fed)]
        outputs = [f"y{index}" for index in range(self.outputs)]
        node = helper.make_node(self.op_type, names, outputs, **self.attributes)
        inputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in feeds.items()
        ]
        untyped = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph([node], "graph", inputs, untyped)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8
        )
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), _OPTIONS, providers=["CPUExecutionProvider"]
        )
        results: list[Array] = session.run(None, feeds)
        return results


def compare(  # noqa: PLR0913  (what a run takes, and two bounds)
    node: Onnx,
    op: str,
    arrays: Sequence[Array | None],
    attributes: Attributes | None = None,
    dtypes: Sequence[DType] = (DType.FLOAT32, DType.FLOAT16),
    extra_inputs: Sequence[Array] = (),
    reach: float = 0.0,
) -> None:
    """Hold the kernel of `op` to `node` on float32 `arrays` rounded to each of `dtypes`.

    `extra_inputs` are constants that only the target operator has. The reference's dtype and
    shape are declared as the output's, so the kernel's type rule is held to them too. `reach` is
    that of `assert_close`.
    """
    for dtype in dtypes:
        given = [None if array is None else array.astype(dtype.numpy) for array in arrays]
        wide = np.float32 if dtype.itemsize < 4 and dtype.is_float else dtype.numpy
        expected = node.run([None if array is None else array.astype(wide) for array in given])
        types = [(dtype, array.shape) for array in expected]
        constants = range(len(given), len(given) + len(extra_inputs))
        actual = run_operator(op, [*given, *extra_inputs], types, attributes, list(constants))
        for got, wanted in zip(actual, expected, strict=True):
            assert_close(got, wanted, dtype, reach)
