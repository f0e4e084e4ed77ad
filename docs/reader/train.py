"""Train the small reader of text lines that `make demo` falls back to; numpy alone, from one seed.

The network slides over a picture of a line, 32 pixels high, and gives for every fourth column the
probability of each character and of "none". Lines are drawn, so each column's character is known:
no alignment has to be learned. It is written as plain ONNX beside this script.

    python docs/reader/train.py [STEPS]    # about 15 minutes; needs Pillow for its font (Aileron, CC0)
"""

from __future__ import annotations

import string
import sys
from pathlib import Path

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper
from picture import scaled
from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).resolve().parent
LINE = "These words were read without a board"
CHARACTERS = " " + string.ascii_letters + string.digits + ".,:;!?'()-+=%/&#$@_\""
PICTURE, HEIGHT, STEP, WIDTH = 48, 32, 4, 256
NEAR = 3
"""Pixels from a character's middle to that of a column that shows it: one or two columns do."""

SEED, BATCH, STEPS, RATE = 1, 16, 3600, 2e-3

# Kernel, strides and channels of each convolution; the padding keeps `same` sizes but for the
# fourth, which folds the rows that are left into one.
LAYERS = (
    ((3, 3), (2, 2), 16),
    ((3, 3), (2, 2), 32),
    ((3, 3), (2, 1), 40),
    ((4, 5), (4, 1), 48),
    ((1, 3), (1, 1), 48),
    ((1, 1), (1, 1), len(CHARACTERS) + 1),
)


def padding(kernel: tuple[int, int], strides: tuple[int, int]) -> tuple[int, int]:
    """Return rows and columns of zeros at either side."""
    return 0 if strides[0] == kernel[0] else kernel[0] // 2, kernel[1] // 2


def drawn(text: str, size: int, left: int, top: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a picture of a line, ink as 1, and the place in CHARACTERS of each step; -1 for none.

    It is drawn 48 pixels high and made smaller, as the line of the demo is.
    """
    font = ImageFont.load_default(size)
    image = Image.new("L", (WIDTH * PICTURE // HEIGHT, PICTURE), 0)
    ImageDraw.Draw(image).text((left, top), text, fill=255, font=font)
    count = WIDTH // STEP
    labels, nearest = np.full(count, -1), np.full(count, np.inf)
    for at, character in enumerate(text):
        start, end = (left + font.getlength(text[:upto]) for upto in (at, at + 1))
        middle = (start + end) / 2 * HEIGHT / PICTURE
        distance = np.abs(STEP * (np.arange(count) + 0.5) - middle)
        near = (distance <= NEAR) & (distance < nearest)
        labels[near], nearest[near] = CHARACTERS.index(character), distance[near]
    return scaled(np.asarray(image, np.float32) / 255, HEIGHT), labels


def samples(draw: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pictures, 1 channel, and labels, 0 for none."""
    pictures, labels = [], []
    pool = list(CHARACTERS) + [" "] * 5 + list(string.ascii_lowercase)
    for _ in range(count):
        text = "".join(draw.choice(pool, 24)).strip()
        place = int(draw.integers(30, 35)), int(draw.integers(3, 20)), int(draw.integers(1, 8))
        picture, label = drawn(text, *place)
        paper, ink = draw.uniform(0, 0.15), draw.uniform(0.8, 1)
        noisy = paper + (ink - paper) * picture + draw.normal(0, 0.02, picture.shape)
        pictures.append(noisy.clip(0, 1))
        labels.append(label + 1)
    return np.stack(pictures).astype(np.float32)[:, None], np.stack(labels)


def columns(x: np.ndarray, kernel: tuple[int, int], strides: tuple[int, int]) -> np.ndarray:
    """Return the windows of a picture as rows: (n, height, width, channels * kernel)."""
    rows, sides = padding(kernel, strides)
    padded = np.pad(x, ((0, 0), (0, 0), (rows, rows), (sides, sides)))
    found = sliding_window_view(padded, kernel, (2, 3))[:, :, :: strides[0], :: strides[1]]
    n, _, height, width = found.shape[:4]
    return np.ascontiguousarray(found.transpose(0, 2, 3, 1, 4, 5)).reshape(n, height, width, -1)


def spread(
    gradient: np.ndarray, shape: tuple[int, ...], kernel: tuple[int, int], strides: tuple[int, int]
) -> np.ndarray:
    """Return the gradient of a picture from that of its windows; the inverse of `columns`."""
    rows, sides = padding(kernel, strides)
    n, channels, height, width = shape
    total = np.zeros((n, channels, height + 2 * rows, width + 2 * sides), np.float32)
    _, out_height, out_width, _ = gradient.shape
    parts = gradient.reshape(n, out_height, out_width, channels, *kernel)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            at = (
                slice(i, i + strides[0] * (out_height - 1) + 1, strides[0]),
                slice(j, j + strides[1] * (out_width - 1) + 1, strides[1]),
            )
            total[:, :, at[0], at[1]] += parts[..., i, j].transpose(0, 3, 1, 2)
    return total[:, :, rows : rows + height, sides : sides + width]


class Reader:
    """The network's weights, with the steps of Adam."""

    def __init__(self, draw: np.random.Generator) -> None:
        self.weights: list[np.ndarray] = []
        before = 1
        for kernel, _, channels in LAYERS:
            fan = before * kernel[0] * kernel[1]
            normal = draw.normal(0, np.sqrt(2 / fan), (fan, channels))
            self.weights += [normal.astype(np.float32), np.zeros(channels, np.float32)]
            before = channels
        self._means = [np.zeros_like(each) for each in self.weights]
        self._squares = [np.zeros_like(each) for each in self.weights]
        self._count = 0

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, list[tuple[np.ndarray, tuple[int, ...]]]]:
        """Return scores (n, steps, classes), and windows and shape of each layer's input."""
        kept = []
        for position, (kernel, strides, _) in enumerate(LAYERS):
            if position:
                x = np.maximum(x, 0)
            windows = columns(x, kernel, strides)
            kept.append((windows, x.shape))
            x = windows @ self.weights[2 * position] + self.weights[2 * position + 1]
            x = x.transpose(0, 3, 1, 2)
        return x[:, :, 0].transpose(0, 2, 1), kept

    def train(self, x: np.ndarray, labels: np.ndarray, rate: float) -> float:
        """Take a step; return the loss, the mean over the columns."""
        scores, kept = self.forward(x)
        scores = scores - scores.max(-1, keepdims=True)
        shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        at = (*np.indices(labels.shape), labels)
        loss = float(-np.log(shares[at] + 1e-9).mean())
        shares[at] -= 1
        gradient = (shares / labels.size)[:, None]
        found: list[np.ndarray] = []
        for position in reversed(range(len(LAYERS))):
            windows, shape = kept[position]
            flat = gradient.reshape(-1, gradient.shape[-1])
            found += [flat.sum(0), windows.reshape(-1, windows.shape[-1]).T @ flat]
            if position:
                kernel, strides, _ = LAYERS[position]
                back = spread(gradient @ self.weights[2 * position].T, shape, kernel, strides)
                gradient = back.transpose(0, 2, 3, 1) * (_values(kept, position, self.weights) > 0)
        self._step(found[::-1], rate)
        return loss

    def _step(self, gradients: list[np.ndarray], rate: float) -> None:
        """Change the weights, as Adam does."""
        self._count += 1
        for position, gradient in enumerate(gradients):
            mean, square = self._means[position], self._squares[position]
            self._means[position] = mean + 0.1 * (gradient - mean)
            self._squares[position] = square + 0.001 * (gradient**2 - square)
            mean = self._means[position] / (1 - 0.9**self._count)
            square = self._squares[position] / (1 - 0.999**self._count)
            change = rate * mean / (np.sqrt(square) + 1e-8)
            self.weights[position] = (self.weights[position] - change).astype(np.float32)


def _values(
    kept: list[tuple[np.ndarray, tuple[int, ...]]], position: int, weights: list[np.ndarray]
) -> np.ndarray:
    """Return what the layer before gave, (n, height, width, channels), before its Relu."""
    windows, _ = kept[position - 1]
    return windows @ weights[2 * position - 2] + weights[2 * position - 1]


def as_onnx(weights: list[np.ndarray]) -> onnx.ModelProto:
    """Return the network as an ONNX model of the listed operators, for lines of any width."""
    nodes, values, before, x = [], [], 1, "line"
    for position, (kernel, strides, channels) in enumerate(LAYERS):
        matrix, bias = weights[2 * position : 2 * position + 2]
        filters = np.ascontiguousarray(matrix.T).reshape(channels, before, *kernel)
        names = [f"filters{position}", f"bias{position}"]
        values += [
            numpy_helper.from_array(v, n) for v, n in zip((filters, bias), names, strict=True)
        ]
        rows, sides = padding(kernel, strides)
        facts = {"kernel_shape": kernel, "strides": strides, "pads": [rows, sides, rows, sides]}
        conv = f"conv{position}"
        nodes.append(helper.make_node("Conv", [x, *names], [conv], name=conv, **facts))
        x, before = conv, channels
        if position < len(LAYERS) - 1:
            x = f"relu{position}"
            nodes.append(helper.make_node("Relu", [conv], [x], name=x))
    values.append(numpy_helper.from_array(np.array([2]), "rows"))
    nodes += [
        helper.make_node("Squeeze", [x, "rows"], ["row"], name="squeeze"),
        helper.make_node("Transpose", ["row"], ["steps"], name="transpose", perm=[0, 2, 1]),
        helper.make_node("Softmax", ["steps"], ["characters"], name="softmax", axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "line-reader",
        [helper.make_tensor_value_info("line", TensorProto.FLOAT, [1, 1, HEIGHT, "width"])],
        [
            helper.make_tensor_value_info(
                "characters", TensorProto.FLOAT, [1, "steps", LAYERS[-1][2]]
            )
        ],
        values,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    model.producer_name = "atc-py docs/reader/train.py"
    helper.set_model_props(model, {"character": "\n".join(CHARACTERS)})
    return model


def write_line() -> None:
    """Write the picture that the demo reads, 48 pixels high, black on white."""
    font = ImageFont.load_default(32)
    width = -(-int(font.getlength(LINE) + 24) // 6) * 6  # whole steps of either reader
    image = Image.new("L", (width, PICTURE), 255)
    ImageDraw.Draw(image).text((12, 4), LINE, fill=0, font=font)
    image.save(HERE / "line.png", optimize=True)


def main() -> None:
    """Train, print the loss, and write the network and the picture."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    draw = np.random.default_rng(SEED)
    reader = Reader(draw)
    for step in range(steps):
        rate = RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
        loss = reader.train(*samples(draw, BATCH), rate)
        if step % 100 == 0:
            sys.stdout.write(f"step {step}: loss {loss:.4f}\n")
            sys.stdout.flush()
    (HERE / "reader.onnx").write_bytes(as_onnx(reader.weights).SerializeToString())
    write_line()


if __name__ == "__main__":
    main()
