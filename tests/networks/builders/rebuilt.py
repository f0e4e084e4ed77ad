"""Networks whose `fusion_result.json` users published, with the operators of their ONNX exports.

Weights are random, and MiDaS is narrower than the real one: what fuses follows from operators, their
order and, for channels, from multiples of 16.
"""

from collections.abc import Sequence

import numpy as np
import onnx

from tests.networks.builders.graph import Net

_PIXELS = 640
_STRIDES = (8, 16, 32)
_CLASSES, _BINS = 80, 16
_GROUPS = 32


def build_yolov8n(activation: str = "Relu", seed: int = 8) -> onnx.ModelProto:
    """Return YOLOv8n of 640 pixels: 57 convolutions with Relu or Silu, 6 of the heads, 1 of boxes."""
    net = _Detector(activation, seed)
    x = net.input("images", np.float32, (1, 3, _PIXELS, _PIXELS))
    x = net.block(net.block(x, (3, 16), 3, 2), (16, 32), 3, 2)
    x = net.stage(x, (32, 32), 1, shortcut=True)
    fine = net.stage(net.block(x, (32, 64), 3, 2), (64, 64), 2, shortcut=True)
    middle = net.stage(net.block(fine, (64, 128), 3, 2), (128, 128), 2, shortcut=True)
    x = net.stage(net.block(middle, (128, 256), 3, 2), (256, 256), 1, shortcut=True)
    coarse = net.pools(x, 256)
    up = net.op("Concat", net.doubled(coarse), middle, axis=1)
    up = net.stage(up, (384, 128), 1)
    first = net.stage(net.op("Concat", net.doubled(up), fine, axis=1), (192, 64), 1)
    down = net.op("Concat", net.block(first, (64, 64), 3, 2), up, axis=1)
    second = net.stage(down, (192, 128), 1)
    down = net.op("Concat", net.block(second, (128, 128), 3, 2), coarse, axis=1)
    third = net.stage(down, (384, 256), 1)
    net.output("output0", net.boxes((first, second, third)), np.float32, (1, 84, 8400))
    return net.model()


class _Detector(Net):
    def __init__(self, activation: str, seed: int) -> None:
        super().__init__("yolov8n", 12, seed)
        self._activation = activation

    def conv(self, x: str, channels: tuple[int, int], kernel: int, stride: int = 1) -> str:
        width, out = channels
        weights = (self.weights(out, width, kernel, kernel), self.weights(out, scale=0.1))
        pads = [kernel // 2] * 4
        return self.op("Conv", x, *weights, strides=[stride] * 2, pads=pads)

    def block(self, x: str, channels: tuple[int, int], kernel: int, stride: int = 1) -> str:
        y = self.conv(x, channels, kernel, stride)
        if self._activation == "Silu":
            return self.op("Mul", y, self.op("Sigmoid", y))
        return self.op(self._activation, y)

    def stage(
        self, x: str, channels: tuple[int, int], depth: int, *, shortcut: bool = False
    ) -> str:
        """Return a C2f stage: halves, bottlenecks of the second half, all joined."""
        width, out = channels
        half = out // 2
        parts = self.ops("Split", self.block(x, (width, out), 1), count=2, axis=1)
        for _ in range(depth):
            y = self.block(self.block(parts[-1], (half, half), 3), (half, half), 3)
            parts.append(self.op("Add", parts[-1], y) if shortcut else y)
        return self.block(self.op("Concat", *parts, axis=1), (half * len(parts), out), 1)

    def pools(self, x: str, width: int) -> str:
        parts = [self.block(x, (width, width // 2), 1)]
        for _ in range(3):
            pool = {"kernel_shape": [5, 5], "strides": [1, 1], "pads": [2, 2, 2, 2]}
            parts.append(self.op("MaxPool", parts[-1], **pool))
        return self.block(self.op("Concat", *parts, axis=1), (2 * width, width), 1)

    def doubled(self, x: str) -> str:
        scales = self.const([1, 1, 2, 2])
        return self.op(
            "Resize", x, self.const([]), scales, mode="nearest", nearest_mode="floor",
            coordinate_transformation_mode="asymmetric",
        )  # fmt: skip

    def boxes(self, levels: Sequence[str]) -> str:
        """Return the heads of the levels and their decoded boxes: centers, sizes, scores."""
        rows = []
        for level, width in zip(levels, (64, 128, 256), strict=True):
            sides = self._head(level, width, 64, 4 * _BINS)
            scores = self._head(level, width, _CLASSES, _CLASSES)
            joined = self.op("Concat", sides, scores, axis=1)
            rows.append(self.op("Reshape", joined, self.longs(1, 4 * _BINS + _CLASSES, -1)))
        joined = self.op("Concat", *rows, axis=2)
        sides, scores = self.ops("Split", joined, count=2, axis=1, split=[4 * _BINS, _CLASSES])
        spread = self.op("Reshape", sides, self.longs(1, 4, _BINS, -1))
        spread = self.op("Transpose", spread, perm=[0, 2, 1, 3])
        shares = self.op("Softmax", spread, axis=1) if self.opset > 12 else self._softmax(spread)
        means = self.op("Conv", shares, self.const(np.arange(_BINS).reshape(1, _BINS, 1, 1)))
        distances = self.op("Reshape", means, self.longs(1, 4, -1))
        near, far = self._half(distances, 0), self._half(distances, 2)
        anchors, strides = self._anchors()
        low, high = self.op("Sub", anchors, near), self.op("Add", anchors, far)
        center = self.op("Div", self.op("Add", low, high), self.const(2.0))
        box = self.op("Concat", center, self.op("Sub", high, low), axis=1)
        scaled = self.op("Mul", box, strides)
        return self.op("Concat", scaled, self.op("Sigmoid", scores), axis=1)

    def _head(self, x: str, width: int, inner: int, out: int) -> str:
        y = self.block(self.block(x, (width, inner), 3), (inner, inner), 3)
        return self.conv(y, (inner, out), 1)

    def _softmax(self, x: str) -> str:
        """Softmax of opset 12 along axis 1, as exporters write it."""
        last = self.op("Softmax", self.op("Transpose", x, perm=[0, 3, 2, 1]), axis=3)
        return self.op("Transpose", last, perm=[0, 3, 2, 1])

    def _half(self, x: str, begin: int) -> str:
        ends = (self.longs(begin), self.longs(begin + 2), self.longs(1))
        return self.op("Slice", x, *ends)

    def _anchors(self) -> tuple[str, str]:
        grids, steps = [], []
        for stride in _STRIDES:
            side = _PIXELS // stride
            y, x = np.meshgrid(*[np.arange(side) + 0.5] * 2, indexing="ij")
            grids.append(np.stack([x.ravel(), y.ravel()]))
            steps.append(np.full((1, side * side), stride))
        return self.const([np.concatenate(grids, 1)]), self.const(np.concatenate(steps, 1))


def build_midas(pixels: int = 64, seed: int = 9) -> onnx.ModelProto:
    """Return MiDaS 2.1 on ResNeXt-101 with its 125 convolutions, a quarter as wide as the real one.

    Pictures are normalized within the model.
    """
    net = _Depth(seed)
    x = net.input("image", np.float32, (1, 3, pixels, pixels))
    mean, deviation = (np.array(each).reshape(1, 3, 1, 1) for each in (_MEAN, _DEVIATION))
    x = net.op("Div", net.op("Sub", x, net.const(mean)), net.const(deviation))
    x = net.op("Relu", net.conv(x, (3, 32), 7, 2))
    pool = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    x = net.op("MaxPool", x, **pool)
    levels, width = [], 32
    for at, depth in enumerate((3, 4, 23, 3)):
        inner = 64 << at
        for block in range(depth):
            x = net.bottleneck(x, (width, inner), 2 if at and not block else 1)
            width = 2 * inner
        levels.append(net.conv(x, (width, 32), 3, bias=False))
    x = net.doubled(net.residual(levels.pop()))
    while levels:
        x = net.op("Add", x, net.residual(levels.pop()))
        x = net.doubled(net.residual(x))
    x = net.doubled(net.conv(x, (32, 32), 3), mode="half_pixel")
    x = net.op("Relu", net.conv(x, (32, 32), 3))
    x = net.op("Relu", net.conv(x, (32, 1), 1))
    net.output("depth", net.squeeze(x, 1), np.float32, (1, pixels, pixels))
    return net.model()


_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class _Depth(Net):
    def __init__(self, seed: int) -> None:
        super().__init__("midas", 12, seed)

    def conv(
        self, x: str, channels: tuple[int, int], kernel: int, stride: int = 1, groups: int = 1,
        *, bias: bool = True,
    ) -> str:  # fmt: skip
        width, out = channels
        more = [self.weights(out, scale=0.1)] if bias else []
        weights = self.weights(out, width // groups, kernel, kernel)
        pads = [kernel // 2] * 4
        return self.op("Conv", x, weights, *more, strides=[stride] * 2, pads=pads, group=groups)

    def bottleneck(self, x: str, channels: tuple[int, int], stride: int) -> str:
        """Return a block of ResNeXt: 1 by 1, 3 by 3 in groups, 1 by 1, and the way around."""
        width, inner = channels
        y = self.op("Relu", self.conv(x, (width, inner), 1))
        y = self.op("Relu", self.conv(y, (inner, inner), 3, stride, _GROUPS))
        y = self.conv(y, (inner, 2 * inner), 1)
        around = x if width == 2 * inner else self.conv(x, (width, 2 * inner), 1, stride)
        return self.op("Relu", self.op("Add", y, around))

    def residual(self, x: str) -> str:
        """Return a unit of the decoder, whose Relu works in place, so that the sum has its result."""
        x = self.op("Relu", x)
        y = self.op("Relu", self.conv(x, (32, 32), 3))
        return self.op("Add", self.conv(y, (32, 32), 3), x)

    def doubled(self, x: str, mode: str = "align_corners") -> str:
        scales = self.const([1, 1, 2, 2])
        return self.op(
            "Resize", x, self.const([]), scales, mode="linear", coordinate_transformation_mode=mode
        )
