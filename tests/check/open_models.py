"""Random models whose inputs leave dims open, with arithmetic on shapes and all that breaks rules."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
NAMES = ("batch", "height", "width")


class OpenModel:
    """Model of random nodes on one image, which is open in some axes.

    Attributes:
        open_axes: the axes that are open.
    """

    def __init__(self, random_: random.Random, opset: int) -> None:
        self._random = random_
        self._opset = opset
        self._nodes: list[onnx.NodeProto] = []
        self._weights: dict[str, npt.NDArray[Any]] = {}
        self._count = 0
        self.open_axes = [axis for axis in (0, 2, 3) if random_.random() < 0.7] or [2]
        self._images = ["x"]
        self._numbers: list[str] = []
        self._others: list[str] = []

    # Writing ----------------------------------------------------------------------------------

    def const(self, values: Any, dtype: npt.DTypeLike = np.int64) -> str:
        """Add an initializer."""
        name = self._fresh("k")
        self._weights[name] = np.array(values, dtype)
        return name

    def op(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output."""
        name = self._fresh(op_type)
        node = helper.make_node(op_type, inputs, [name], name=name, **attributes)
        self._nodes.append(node)
        return name

    def _fresh(self, stem: str) -> str:
        """Make a name that no other value has."""
        self._count += 1
        return f"{stem}_{self._count}"

    def _any(self, names: Sequence[str]) -> str:
        """Choose one of some values, the latest ones more often."""
        return self._random.choice([*names, *names[-2:]])

    def model(self) -> onnx.ModelProto:
        """Return the whole; what nothing reads is an output."""
        read = {name for node in self._nodes for name in (*node.input, *_captured(node))}
        made = [name for node in self._nodes for name in node.output]
        ends = [name for name in made if name not in read] or ["x"]
        dims: list[int | str] = [2, 3, 16, 16]
        for axis in self.open_axes:
            dims[axis] = NAMES[max(0, axis - 1)] if self._random.random() < 0.5 else ""
        graph = helper.make_graph(
            self._nodes,
            "open",
            [helper.make_tensor_value_info("x", FLOAT, [dim or None for dim in dims])],
            [onnx.ValueInfoProto(name=name) for name in ends],
            [numpy_helper.from_array(array, name) for name, array in self._weights.items()],
        )
        opsets = [helper.make_opsetid("", self._opset), helper.make_opsetid("com.other", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    # Steps ------------------------------------------------------------------------------------

    def grow(self) -> None:
        """Take one more step."""
        steps: list[Callable[[], None]] = [
            self._convolve,
            self._convolve,
            self._pool,
            self._activate,
            self._join,
            self._measure,
            self._measure,
            self._reckon,
            self._reckon,
            self._reshape,
            self._enlarge,
            self._cut,
            self._make,
            self._dense,
            self._choose,
            self._odd,
        ]
        self._random.choice(steps)()

    def _convolve(self) -> None:
        """Add a Conv with 3 channels in and out."""
        size = self._random.choice([1, 3, 3, 5])
        weights = self.const(np.full((3, 3, size, size), 0.1), np.float32)
        pad, stride = self._random.choice([0, size // 2]), self._random.choice([1, 2])
        dims = {"pads": [pad] * 4, "strides": [stride] * 2, "kernel_shape": [size] * 2}
        self._images.append(self.op("Conv", self._any(self._images), weights, **dims))

    def _pool(self) -> None:
        """Add a pool, perhaps with ceil_mode."""
        kind = self._random.choice(["MaxPool", "AveragePool"])
        size = self._random.choice([1, 2, 3])
        more = {"ceil_mode": 1} if self._random.random() < 0.4 else {}
        dims = {"kernel_shape": [size] * 2, "strides": [2, 2]}
        self._images.append(self.op(kind, self._any(self._images), **dims, **more))

    def _activate(self) -> None:
        """Add an elementwise operator, seldom one that is not listed or breaks a rule."""
        kind = self._random.choice(["Relu", "Sigmoid", "Mish", "LRN", "Relu", "Softmax", "Tanh"])
        more: dict[str, Any] = {"size": self._random.choice([3, 4])} if kind == "LRN" else {}
        if kind == "Mish" and self._random.random() < 0.6:
            kind = "Relu"
        self._images.append(self.op(kind, self._any(self._images), **more))

    def _join(self) -> None:
        """Add an Add or a Concat of two images, which may not fit together."""
        one, two = self._any(self._images), self._any(self._images)
        if self._random.random() < 0.5:
            self._images.append(self.op("Add", one, two))
        else:
            self._images.append(self.op("Concat", one, two, axis=self._random.choice([0, 2, 3])))

    def _measure(self) -> None:
        """Read one dim of an image, as a number."""
        shape = self.op("Shape", self._any([*self._images, *self._others]))
        axis = self.const(self._random.choice([0, 1, 2, 3, -1]))
        self._numbers.append(self.op("Gather", shape, axis, axis=0))

    def _number(self) -> str:
        """Choose a number that depends on dims, or a constant one."""
        if self._numbers and self._random.random() < 0.85:
            return self._any(self._numbers)
        return self.const(self._random.choice([1, 2, 3, 16]))

    def _reckon(self) -> None:
        """Compute with numbers: listed for int64 or not, or not listed at all."""
        if not self._numbers:
            return self._measure()
        kind = self._random.choice(
            ["Mul", "Add", "Sub", "Div", "Mod", "Neg", "Abs", "Max", "Float"]
        )
        if kind in {"Neg", "Abs"}:
            found = self.op(kind, self._number())
        elif kind == "Float":
            real = self.op(
                "Mul", self.op("Cast", self._number(), to=FLOAT), self.const(0.5, np.float32)
            )
            found = self.op("Cast", self.op("Ceil", real), to=INT64)
        else:
            found = self.op(kind, self._number(), self._number())
        self._numbers.append(found)
        return None

    def _vector(self, *numbers: str) -> str:
        """Put numbers side by side."""
        zero = self.const([0])
        parts = [
            self.op("Unsqueeze", each, zero)
            if self._opset >= 13
            else self.op("Unsqueeze", each, axes=[0])
            for each in numbers
        ]
        return self.op("Concat", *parts, axis=0)

    def _reshape(self) -> None:
        """Reshape to computed or constant dims."""
        makers: list[Callable[[], str]] = [
            lambda: self._vector(self._number(), self.const(-1)),
            lambda: self._vector(self.const(-1), self._number()),
            lambda: self.const([-1, 3 * 16 * 16]),
            lambda: self.const([1, 3, -1]),
            lambda: self._vector(self._number(), self.const(3), self._number(), self.const(-1)),
        ]
        shape = self._random.choice(makers)()
        self._others.append(self.op("Reshape", self._any(self._images), shape))

    def _enlarge(self) -> None:
        """Resize by constant scales or to computed sizes."""
        x = self._any(self._images)
        how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}
        how["nearest_mode"] = "floor"
        nothing = self.const([], np.float32)
        if self._random.random() < 0.5:
            scales = self.const([1, 1, 2, 2], np.float32)
            self._images.append(self.op("Resize", x, nothing, scales, **how))
        else:
            shape = self.op("Shape", x)
            front = self.op("Slice", shape, self.const([0]), self.const([2]), self.const([0]))
            sizes = self.op("Concat", front, self._vector(self._number(), self._number()), axis=0)
            self._images.append(self.op("Resize", x, nothing, nothing, sizes, **how))

    def _cut(self) -> None:
        """Add a Slice, Gather, Tile or Pad with computed bounds."""
        x, kind = self._any(self._images), self._random.choice(["Slice", "Gather", "Tile", "Pad"])
        axis = self._random.choice([2, 3])
        if kind == "Slice":
            start, end = (self._vector(self._number()) for _ in range(2))
            self._images.append(self.op("Slice", x, start, end, self.const([axis])))
        elif kind == "Gather":
            self._others.append(self.op("Gather", x, self._number(), axis=axis))
        elif kind == "Tile":
            repeats = [self.const(1), self.const(1), self._number(), self.const(1)]
            self._images.append(self.op("Tile", x, self._vector(*repeats)))
        else:
            zeros = [self.const(0)] * 6
            pads = self._vector(*zeros, self._number(), self.const(1))
            self._images.append(self.op("Pad", x, pads))

    def _make(self) -> None:
        """Add a Range, ConstantOfShape, Expand or TopK of computed numbers."""
        kind = self._random.choice(["Range", "ConstantOfShape", "Expand", "TopK"])
        if kind == "Range":
            ends = self.const(0), self._number(), self.const(1)
            self._others.append(self.op("Range", *ends))
        elif kind == "ConstantOfShape":
            shape = self._vector(self._number(), self._number())
            self._others.append(self.op("ConstantOfShape", shape))
        elif kind == "Expand":
            shape = self._vector(self._number(), self._number())
            line = self.op("Cast", self._vector(self._number()), to=FLOAT)
            self._others.append(self.op("Expand", line, shape))
        else:
            name = self._fresh("TopK")
            inputs = [self._any(self._images), self._vector(self._number())]
            outputs = [name, f"{name}_at"]
            self._nodes.append(helper.make_node("TopK", inputs, outputs, name=name, axis=3))
            self._images.append(name)

    def _dense(self) -> None:
        """Flatten and multiply by the weights of a fixed number of features."""
        features = self._random.choice([3 * 16 * 16, 3 * 8 * 8, 3])
        flat = self.op("Flatten", self._any(self._images), axis=1)
        weights = self.const(np.full((features, 4), 0.1), np.float32)
        self._others.append(self.op("Gemm", flat, weights))

    def _choose(self) -> None:
        """Add an If on dims, or on data: of listed operators or not, of one rank or of two."""
        if self._numbers and self._random.random() < 0.8:
            condition = self.op("Equal", self._number(), self._number())
        else:
            whole = self.op("ReduceMean", self._any(self._images), keepdims=0)
            condition = self.op("Greater", whole, self.const(0, np.float32))
        x = self._any(self._images)
        kinds = [self._random.choice(["Relu", "Mish", "Flatten", "Abs"]) for _ in range(2)]
        branches = {}
        for key, kind in zip(("then_branch", "else_branch"), kinds, strict=True):
            name = self._fresh(key)
            inner = helper.make_node(kind, [x], [name], name=name)
            output = helper.make_tensor_value_info(name, FLOAT, None)
            branches[key] = helper.make_graph([inner], key, [], [output])
        values = self._others if "Flatten" in kinds else self._images
        values.append(self.op("If", condition, **branches))

    def _odd(self) -> None:
        """Add what no choice of dims puts right, or what data decides."""
        kind = self._random.choice(["NonZero", "Double", "Other", "Shift", "Bounds"])
        x = self._any(self._images)
        if kind == "NonZero":
            self._others.append(self.op("NonZero", x))
        elif kind == "Double":
            self._others.append(self.op("Sin", self.op("Cast", x, to=TensorProto.DOUBLE)))
        elif kind == "Other":
            self._others.append(self.op("Own", x, domain="com.other"))
        elif kind == "Shift":
            long = self.op("Cast", self._number(), to=TensorProto.UINT64)
            shifted = self.op("BitShift", long, self.const(1, np.uint64), direction="LEFT")
            self._numbers.append(self.op("Cast", shifted, to=INT64))
        else:
            low = self.op("ReduceMin", self._any(self._images), keepdims=0)
            self._images.append(self.op("Clip", x, low))


def _captured(node: onnx.NodeProto) -> list[str]:
    """Name what the branches of a node read."""
    graphs = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return [name for graph in graphs for inner in graph.node for name in inner.input]


def random_open_model(random_: random.Random) -> tuple[onnx.ModelProto, list[int]]:
    """Make a model, and list the axes of its input `x`, [2, 3, 16, 16], that are open."""
    made = OpenModel(random_, random_.choice([11, 12, 13, 13]))
    for _ in range(random_.randint(2, 14)):
        made.grow()
    return made.model(), made.open_axes
