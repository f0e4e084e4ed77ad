"""Operators that replace those of onnx's evaluator where it departs from their definitions."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from onnx.reference.op_run import OpRun
from onnx.reference.ops import op_conv, op_grid_sample

from atc_py.onnx_graph.folding.evaluate import SINCE
from atc_py.tensor.shapes import normalize_axis

_LEAST = 1e-9
"""Number that MeanVarianceNormalization adds to deviations."""


class BatchNormalization(OpRun):
    """Normalization by given statistics, as ONNX defines it where no attribute says that it trains."""

    def _run(
        self,
        x: NDArray[Any],
        *parameters: NDArray[Any],
        epsilon: float = 1e-5,
        **_attributes: object,
    ) -> tuple[NDArray[Any]]:
        apart = any(
            attribute.name == "spatial" and not attribute.i
            for attribute in self.onnx_node.attribute
        )
        if len(self.output) > 1 or apart:
            raise ValueError("BatchNormalization trains, or has statistics for each element")
        channels = (-1, *(1,) * (x.ndim - 2))
        scale, bias, mean, variance = (parameter.reshape(channels) for parameter in parameters)
        result = scale * (x - mean) / np.sqrt(variance + epsilon) + bias
        return (result.astype(x.dtype),)


class LayerNormalization(OpRun):
    """Normalization over the last axes, whose statistics are float32 as stash_type demands."""

    def _run(
        self,
        x: NDArray[Any],
        scale: NDArray[Any],
        bias: NDArray[Any] | None = None,
        *,
        axis: int = -1,
        epsilon: float = 1e-5,
        stash_type: int = 1,
    ) -> tuple[NDArray[Any], ...]:
        """The results, the means and the inverse deviations."""
        if stash_type != 1:
            raise ValueError("the statistics of LayerNormalization are not float32")
        wide = x.astype(np.float32)
        axes = tuple(range(axis % x.ndim, x.ndim))
        mean = wide.mean(axis=axes, keepdims=True)
        inverse = 1 / np.sqrt(np.square(wide - mean).mean(axis=axes, keepdims=True) + epsilon)
        result = ((wide - mean) * inverse).astype(x.dtype) * scale
        if bias is not None:
            result = result + bias
        return result.astype(x.dtype), mean.astype(np.float32), inverse.astype(np.float32)


class MeanVarianceNormalization(OpRun):
    """Normalization over axes; the body that ONNX defines it as has float32 among 16-bit floats."""

    def _run(self, x: NDArray[Any], *, axes: Sequence[int] = (0, 2, 3)) -> tuple[NDArray[Any]]:
        wide = x.astype(np.result_type(x.dtype, np.float32) if x.dtype.kind == "f" else np.float32)
        along = tuple({normalize_axis(axis, x.ndim) for axis in axes})  # some may be named twice
        away = wide - wide.mean(axis=along, keepdims=True)
        deviation = np.sqrt(np.square(away).mean(axis=along, keepdims=True))
        # The least number is 0 in float16, as it is for onnxruntime: zeros alone give NaN there.
        divisor = deviation.astype(x.dtype) + np.asarray(_LEAST, x.dtype)
        return ((away / divisor).astype(x.dtype),)


class Conv(op_conv.Conv):
    """Convolutions as products of matrices, or of filters of one channel as sums over their taps.

    The evaluator copies windows element by element, which takes fifty times as long.
    """

    def _run(  # noqa: PLR0913  (ONNX's attributes)
        self,
        X: NDArray[Any],  # noqa: N803  (ONNX's names)
        W: NDArray[Any],  # noqa: N803
        B: NDArray[Any] | None = None,  # noqa: N803
        auto_pad: str | None = None,
        dilations: Sequence[int] | None = None,
        group: int | None = None,
        kernel_shape: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
    ) -> tuple[NDArray[Any]]:
        if auto_pad not in {None, "", "NOTSET"}:
            whole: Any = super()._run
            found: tuple[NDArray[Any]] = whole(
                X, W, B, auto_pad, dilations, group, kernel_shape, pads, strides
            )
            return found
        axes, groups = X.ndim - 2, group or 1
        steps, apart = strides or [1] * axes, dilations or [1] * axes
        ends = pads or [0] * 2 * axes
        padded = np.pad(X, [(0, 0), (0, 0), *zip(ends[:axes], ends[axes:], strict=True)])
        spans = [(taps - 1) * gap + 1 for taps, gap in zip(W.shape[2:], apart, strict=True)]
        windows = sliding_window_view(padded, spans, tuple(range(2, X.ndim)))
        strided = tuple(slice(None, None, step) for step in (1, 1, *steps, *apart))
        y = _convolved(windows[strided], W, groups)
        return (y if B is None else y + B.reshape(-1, *[1] * axes),)


def _convolved(windows: NDArray[Any], filters: NDArray[Any], groups: int) -> NDArray[Any]:
    """Sums of windows [n, c, places, taps] times filters [m, c / groups, taps], as [n, m, places]."""
    axes = filters.ndim - 2
    if filters.shape[1] == 1:
        data = (
            np.repeat(windows, len(filters) // groups, axis=1) if groups < len(filters) else windows
        )
        y = np.zeros(data.shape[: 2 + axes], data.dtype)
        for tap in np.ndindex(*filters.shape[2:]):
            at, own = (..., *tap), (slice(None), 0, *tap)
            y += data[at] * filters[own].reshape(-1, *[1] * axes)
        return y
    parts = zip(np.split(windows, groups, axis=1), np.split(filters, groups), strict=True)
    over = tuple(range(2 + axes, 2 + 2 * axes)), tuple(range(2, 2 + axes))
    sums = [np.tensordot(part, own, ((1, *over[0]), (1, *over[1]))) for part, own in parts]
    return np.moveaxis(np.concatenate(sums, axis=-1), -1, 1)


class Expand(OpRun):
    """Broadcasting, which finds out that dims do not fit before it takes memory."""

    def _run(self, data: NDArray[Any], shape: NDArray[Any]) -> tuple[NDArray[Any]]:
        whole = np.broadcast_shapes(data.shape, tuple(shape))
        return (np.broadcast_to(data, whole).copy(),)


class GridSample(op_grid_sample.GridSample):
    """Images sampled at places, also by the older names of modes, and of a float16 grid in float32.

    Cubic places stay beyond the border, whose pixels count one by one, as in onnxruntime.
    """

    _stays = False

    def _run(
        self,
        X: NDArray[Any],  # noqa: N803  (ONNX's name)
        grid: NDArray[Any],
        mode: str = "linear",
        padding_mode: str = "zeros",
        align_corners: int = 0,
    ) -> tuple[NDArray[Any]]:
        mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
        self._stays = mode == "cubic" and padding_mode == "border"
        places = grid.astype(np.promote_types(grid.dtype, np.float32))
        run: Any = super()._run
        result: tuple[NDArray[Any]] = run(X, places, mode, padding_mode, align_corners)
        return result

    def _gs_denormalize_coordinates(
        self, n: NDArray[Any], dims: Sequence[int], align_corners: bool
    ) -> NDArray[np.float64]:
        """Places that are float32, for weights of which float32 would lose digits."""
        places: NDArray[Any] = super()._gs_denormalize_coordinates(n, dims, align_corners)
        return places.astype(np.float64)

    def _prepare_border(self, dims: Sequence[int], align_corners: bool) -> NDArray[np.float64]:
        border: NDArray[np.float64] = super()._prepare_border(dims, align_corners)
        if self._stays:  # none is beyond
            border[: len(dims)], border[len(dims) :] = -np.inf, np.inf
        return border


class _Flattening(OpRun):
    """An operator of classes as it was before opset 13: all axes from `axis` on are one."""

    def _run(self, x: NDArray[Any], **_attributes: object) -> tuple[NDArray[Any]]:
        # The evaluator fills in the newest default, which is -1.
        stated = next(
            (attribute.i for attribute in self.onnx_node.attribute if attribute.name == "axis"), 1
        )
        axis = normalize_axis(stated, x.ndim) if stated < 0 else stated
        rows = x.reshape(math.prod(x.shape[:axis]), -1) if x.size else x.reshape(0, 1)
        return (self._of_rows(rows).astype(x.dtype).reshape(x.shape),)

    def _of_rows(self, rows: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError


class Softmax(_Flattening):
    """Softmax of flattened axes."""

    def _of_rows(self, rows: NDArray[Any]) -> NDArray[Any]:
        powers = np.exp(rows - rows.max(axis=1, keepdims=True))
        shares: NDArray[Any] = powers / powers.sum(axis=1, keepdims=True)
        return shares


class LogSoftmax(_Flattening):
    """Logarithm of the softmax of flattened axes."""

    def _of_rows(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Logarithms; no power is lost on the way to them."""
        away: NDArray[Any] = rows - rows.max(axis=1, keepdims=True)
        result: NDArray[Any] = away - np.log(np.exp(away).sum(axis=1, keepdims=True))
        return result


class Hardmax(_Flattening):
    """One at the first of the largest values of flattened axes, and 0 elsewhere."""

    def _of_rows(self, rows: NDArray[Any]) -> NDArray[Any]:
        result: NDArray[Any] = np.eye(rows.shape[1], dtype=rows.dtype)[rows.argmax(axis=1)]
        return result


_OLDER: tuple[type[OpRun], ...] = (BatchNormalization, Hardmax, LogSoftmax, Softmax)
"""Operators whose older definitions the evaluator does not follow."""


def own_operators(opset: int) -> list[type[OpRun]]:
    """The operators that replace those of the evaluator at an opset."""
    older = [operator for operator in _OLDER if opset < SINCE[operator.__name__]]
    return [*older, Expand, GridSample, LayerNormalization, MeanVarianceNormalization]
