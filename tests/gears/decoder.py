"""A small decoder with a cache of keys and values that grows by one word a step."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
from onnx import numpy_helper

Array = npt.NDArray[Any]

HEADS, WIDTH, WORDS, LONGEST = 4, 8, 50, 80
CACHE = ("k0", "v0", "k1", "v1")

_HEAD = """<ir_version: 8, opset_import: ["" : 13]>
net (int64[1,1] word, int64[1,total] mask, POSITION
     float[1,4,past,8] k0, float[1,4,past,8] v0, float[1,4,past,8] k1, float[1,4,past,8] v1)
 => (scores, k0_new, v0_new, k1_new, v1_new)
<int64[4] split = {1,1,4,8}, int64[3] joined = {1,1,32}, float one = {1}, float far = {-10000},
 int64[2] heads = {1,2}, int64 last = {1}, int64 unit = {1}, int64[1] first = {0},
 float root = {2.828}, float tiny = {0.00001}> {
  COUNTED
  cosine = Gather (cosines, place)
  sine = Gather (sines, place)
  h0 = Gather (table, word)
  seen = Cast <to = 1> (mask)
  unseen = Sub (one, seen)
  added = Mul (unseen, far)
  bias = Unsqueeze (added, heads)
"""

_LAYER = """
  n@ = Norm (h@)
  qa@ = MatMul (n@, wq@)
  ka@ = MatMul (n@, wk@)
  va@ = MatMul (n@, wv@)
  qb@ = Reshape (qa@, split)
  kb@ = Reshape (ka@, split)
  vb@ = Reshape (va@, split)
  qc@ = Transpose <perm = [0,2,1,3]> (qb@)
  kc@ = Transpose <perm = [0,2,1,3]> (kb@)
  vc@ = Transpose <perm = [0,2,1,3]> (vb@)
  qd@, qe@ = Split <axis = 3> (qc@)
  kd@, ke@ = Split <axis = 3> (kc@)
  qn@ = Neg (qe@)
  kn@ = Neg (ke@)
  qr@ = Concat <axis = 3> (qn@, qd@)
  kr@ = Concat <axis = 3> (kn@, kd@)
  q1@ = Mul (qc@, cosine)
  q2@ = Mul (qr@, sine)
  q@ = Add (q1@, q2@)
  k1@_ = Mul (kc@, cosine)
  k2@_ = Mul (kr@, sine)
  k@_ = Add (k1@_, k2@_)
  k@_new = Concat <axis = 2> (k@, k@_)
  v@_new = Concat <axis = 2> (v@, vc@)
  t@ = Transpose <perm = [0,1,3,2]> (k@_new)
  s1@ = MatMul (q@, t@)
  s2@ = Div (s1@, root)
  s3@ = Add (s2@, bias)
  p@ = Softmax <axis = -1> (s3@)
  c1@ = MatMul (p@, v@_new)
  c2@ = Transpose <perm = [0,2,1,3]> (c1@)
  c3@ = Reshape (c2@, joined)
  c4@ = MatMul (c3@, wo@)
  a@ = Add (h@, c4@)
  m@ = Norm (a@)
  f1@ = MatMul (m@, wu@)
  f2@ = Relu (f1@)
  f3@ = MatMul (f2@, wd@)
  h# = Add (a@, f3@)
"""

_NORM = """
  {y}_s = Mul ({x}, {x})
  {y}_m = ReduceMean <axes = [-1]> ({y}_s)
  {y}_e = Add ({y}_m, tiny)
  {y}_r = Sqrt ({y}_e)
  {y} = Div ({x}, {y}_r)
"""

_COUNTED = """
  lengths = Shape (mask)
  length = Gather (lengths, last)
  place_number = Sub (length, unit)
  place_row = Unsqueeze (place_number, first)
  place = Unsqueeze (place_row, first)
"""


def decoder(path: Path, *, counted: bool = False) -> Path:
    """Write a decoder of two layers, 32 wide, with positions rotated into queries and keys.

    Args:
        path: the file.
        counted: the position is counted from the length of the mask, and no input.
    """
    text = _HEAD.replace("POSITION", "" if counted else "int64[1,1] place,")
    text = text.replace("COUNTED", _COUNTED if counted else "")
    text += "".join(_LAYER.replace("@", str(at)).replace("#", str(at + 1)) for at in (0, 1))
    text += "  n2 = Norm (h2)\n  scores = MatMul (n2, wl)\n}"
    for line in text.splitlines():
        if "Norm (" in line:
            y, x = line.replace(" = Norm (", " ").rstrip(")").split()
            text = text.replace(line, _NORM.format(x=x, y=y))
    model = onnx.parser.parse_model(text)
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == "total":
                dim.dim_param = "past + 1"
    for name, array in _weights().items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    onnx.save(model, path)
    return path


def _weights() -> dict[str, Array]:
    random = np.random.default_rng(4)
    size = HEADS * WIDTH
    angles = np.outer(np.arange(LONGEST), 100.0 ** (-np.arange(WIDTH // 2) / (WIDTH // 2)))
    angles = np.concatenate([angles, angles], 1)
    found = {"cosines": np.cos(angles), "sines": np.sin(angles)}
    found["table"] = random.standard_normal((WORDS, size))
    found["wl"] = random.standard_normal((size, WORDS)) / 3
    for at in (0, 1):
        for name in ("wq", "wk", "wv", "wo"):
            found[f"{name}{at}"] = random.standard_normal((size, size)) / 4
        found[f"wu{at}"] = random.standard_normal((size, 2 * size)) / 4
        found[f"wd{at}"] = random.standard_normal((2 * size, size)) / 6
    return {name: array.astype(np.float32) for name, array in found.items()}


def first_feeds(length: int = 0, *, counted: bool = False) -> dict[str, Array]:
    """Data for a step after so many words, with a random cache of them."""
    random = np.random.default_rng(length)
    shape = (1, HEADS, length, WIDTH)
    feeds = {name: random.standard_normal(shape).astype(np.float32) for name in CACHE}
    feeds["word"] = np.array([[7]])
    feeds["mask"] = np.ones((1, length + 1), np.int64)
    if not counted:
        feeds["place"] = np.array([[length]])
    return feeds


def decode(run: Callable[[Mapping[str, Array]], Mapping[str, Array]], steps: int) -> list[int]:
    """The words that follow, the most likely one at each step; the cache starts empty."""
    words: list[int] = []
    feeds = first_feeds()
    for length in range(1, steps + 1):
        results = run(feeds)
        words.append(int(results["scores"][0, -1].argmax()))
        feeds = {**first_feeds(length), **{name: results[f"{name}_new"] for name in CACHE}}
        feeds["word"] = np.array([[words[-1]]])
    return words
