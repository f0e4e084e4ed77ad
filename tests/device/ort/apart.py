"""Models of one operator, run on the simulator and on onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, MemoryModel, ModelBuilder, run_model
from tests.device.ort.twin import differences, run_functions, run_on_ort


def model_of(
    op: str,
    inputs: Sequence[Array | None],
    outputs: Sequence[tuple[DType, Sequence[int | None]]],
    attributes: Attributes | None = None,
    *,
    constants: Sequence[int] = (),
    read: Sequence[int] | None = None,
) -> tuple[MemoryModel, dict[str, Array]]:
    """Return a model of one operator and what it is fed.

    Args:
        op: the operator.
        inputs: data by position; None where absent.
        outputs: dtypes and dims.
        attributes: of the node.
        constants: positions of inputs that are constants.
        read: positions of the outputs that the model has; all of them by default.
    """
    builder, feeds, positions = ModelBuilder(), {}, []
    for index, array in enumerate(inputs):
        if array is None:
            positions.append(-1)
        elif index in constants:
            positions.append(builder.constant(array))
        else:
            positions.append(builder.input(f"x{index}", array.dtype.name, array.shape))
            feeds[f"x{index}"] = array
    types = [(dtype.value, list(dims)) for dtype, dims in outputs]
    made = builder.node(op, positions, types, attributes)
    for index in range(len(made)) if read is None else read:
        builder.output(f"y{index}", made[index])
    return builder.build(), feeds


def apart(
    op: str,
    inputs: Sequence[Array | None],
    outputs: Sequence[tuple[DType, Sequence[int | None]]],
    attributes: Attributes | None = None,
    *,
    constants: Sequence[int] = (),
    read: Sequence[int] | None = None,
) -> float:
    """Hold onnxruntime's results against the simulator's; return how far they are apart at most.

    The form with functions must give results within the same bounds.

    Arguments are those of `model_of`.
    """
    model, feeds = model_of(op, inputs, outputs, attributes, constants=constants, read=read)
    expected = run_model(model, feeds)
    found = run_on_ort(model, feeds)
    assert found is not None, f"{op} has no ONNX form"
    called = run_functions(model, feeds)
    wrong = differences(model, found, expected)
    wrong += differences(model, called, {name: expected[name] for name in called})
    assert wrong == [], wrong
    return max((spread(found[name], expected[name]) for name in expected), default=0.0)


def spread(found: Array, expected: Array) -> float:
    """Return the largest difference of finite elements, as a share of the largest magnitude.

    What is not finite must be the same.
    """
    theirs, ours = expected.astype(np.float64), found.astype(np.float64)
    finite = np.isfinite(theirs)
    np.testing.assert_array_equal(ours[~finite], theirs[~finite])
    ours, theirs = ours[finite], theirs[finite]
    reach = float(np.abs(theirs).max(initial=0.0))
    return float(np.abs(ours - theirs).max(initial=0.0)) / reach if reach else 0.0
