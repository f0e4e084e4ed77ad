"""Activations and normalizations."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

Array = npt.NDArray[Any]

_RANDOM = np.random.default_rng(13)
MATRIX = _RANDOM.standard_normal((2, 3)).astype(np.float32)
CUBE = _RANDOM.standard_normal((2, 3, 4)).astype(np.float32)


def log_softmax(x: Array, axis: int) -> Array:
    return np.asarray(x - np.log(np.exp(x).sum(axis, keepdims=True)))


def hardmax(x: Array, axis: int) -> Array:
    ones = np.zeros_like(x)
    np.put_along_axis(ones, np.expand_dims(x.argmax(axis), axis), 1, axis)
    return ones


for _generation in (5, 9):
    deviation(
        DeviationCase(
            "LogSoftmax/one-axis",
            _generation,
            DeviatingNode("LogSoftmax", 12, (CUBE,), {"axis": 1}),
            DeviatingNode("LogSoftmax", 12, (CUBE[..., :1],), {"axis": 1}),
            lambda x: log_softmax(x, 1),
        )
    )
    deviation(
        DeviationCase(
            "Hardmax/one-axis",
            _generation,
            DeviatingNode("Hardmax", 11, (MATRIX,), {"axis": 0}),
            DeviatingNode("Hardmax", 13, (MATRIX,), {"axis": 0}),
            lambda x: hardmax(x, 0),
        )
    )
# Without an axis CANN takes the last one, ONNX all from axis 1 on.
deviation(
    DeviationCase(
        "LogSoftmax/one-axis",
        6,
        DeviatingNode("LogSoftmax", 11, (CUBE[..., :1],)),
        DeviatingNode("LogSoftmax", 11, (CUBE[:, :1],)),
        lambda x: log_softmax(x, -1),
    )
)
deviation(
    DeviationCase(
        "Hardmax/one-axis",
        8,
        DeviatingNode("Hardmax", 12, (CUBE,)),
        DeviatingNode("Hardmax", 12, (CUBE[:, :1],)),
        lambda x: hardmax(x, -1),
        "cann-9.0",
    )
)

ZEROS = np.array([[0.0, 0.0, 0.0], [3.0, -4.0, 0.0]], np.float32)
INFINITE = np.array([[-np.inf, -2.0, 0.5], [0.75, 3.0, np.inf]], np.float32)


def divided(x: Array, norm: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.asarray(x / norm)


def masked(x: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.asarray(x * (x > 0.5).astype(np.float32))


for _generation in (5, 9):
    deviation(
        DeviationCase(
            "LpNormalization/zero-by-zero",
            _generation,
            DeviatingNode("LpNormalization", 13, (ZEROS,), {"axis": 1}),
            DeviatingNode("LpNormalization", 13, (), {"axis": 0}, {"data": ZEROS[1:] + 1}),
            lambda x: divided(x, np.sqrt((x * x).sum(1, keepdims=True))),
        )
    )
    deviation(
        DeviationCase(
            "ThresholdedRelu/infinity-by-zero",
            _generation,
            DeviatingNode("ThresholdedRelu", 13, (INFINITE,), {"alpha": 0.5}),
            DeviatingNode("ThresholdedRelu", 13, (), {"alpha": 0.5}, {"data": -INFINITE[:, 1:2]}),
            masked,
        )
    )
    for _factor, _default in (("alpha", 1.6732632), ("gamma", 1.050701)):
        deviation(
            DeviationCase(
                f"Selu/{_factor}-fixed",
                _generation,
                DeviatingNode("Selu", 13, (MATRIX,), {_factor: 1.5}),
                DeviatingNode("Selu", 13, (MATRIX,), {_factor: _default}),
                None,
            )
        )
for _generation, _p, _opset in ((6, 1, 12), (8, 1, 18)):
    deviation(
        DeviationCase(
            "LpNormalization/zero-by-zero",
            _generation,
            DeviatingNode("LpNormalization", _opset, (ZEROS,), {"axis": -1, "p": _p}),
            None,
            lambda x: divided(x, abs(x).sum(1, keepdims=True)),
            "cann-9.0",
        )
    )
