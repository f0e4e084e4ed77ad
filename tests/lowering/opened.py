"""Models in which only the run knows shapes, converted once and run on several shapes.

An operand is cut out of a table of fixed dims, as far as a second input says. So every dim,
0 as well, can be had in a run, and a model is loaded once for all of its runs.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from hypothesis import strategies as st
from onnx import helper, numpy_helper

import atc_py
from atc_py.pipeline.running.model import Model
from atc_py.tensor.dtypes import DType
from tests.device.tolerances import assert_close
from tests.relaxed_specs import relaxed_specs

Array = npt.NDArray[Any]


KEEP, NARROW = "must_keep_origin_dtype", "force_fp16"
MODES = (KEEP, "allow_fp32_to_fp16", NARROW)

LONGEST = 6
"""Extent of the tables that operands are cut out of."""

MODE = st.sampled_from(MODES)
SEED = st.integers(0, 2**16)
EXTENT = st.integers(0, LONGEST)
SOLID = st.integers(1, LONGEST)


class Opened:
    """A model that is written node by node; methods return the names of values."""

    def __init__(self, opset: int = 13) -> None:
        self._opset = opset
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._constants: list[onnx.TensorProto] = []

    def fed(self, name: str, dtype: npt.DTypeLike, shape: Sequence[int]) -> str:
        """Return an input of known dims."""
        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._inputs.append(helper.make_tensor_value_info(name, element, list(shape)))
        return name

    def open(self, name: str, rank: int, dtype: npt.DTypeLike = np.float32) -> str:
        """Return an operand all dims of which are open; `cut` makes what is fed for it."""
        table = self.fed(f"{name}_table", dtype, (LONGEST,) * rank)
        ends = self.fed(f"{name}_shape", np.int64, (rank,))
        return self.op("Slice", table, self.const([0] * rank, np.int64), ends)

    def indices(self, name: str, rank: int) -> str:
        """Open int64 indices as `open` does; the list slices them as int32 alone."""
        return self.op("Cast", self.open(name, rank, np.int32), to=onnx.TensorProto.INT64)

    def const(self, values: Any, dtype: npt.DTypeLike | None = None) -> str:
        """Return an initializer."""
        name = f"const_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def longs(self, *values: int) -> str:
        """Return a vector of int64."""
        return self.const(list(values), np.int64)

    def op(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """Return a node with one output."""
        return self.ops(op_type, *inputs, count=1, **attributes)[0]

    def ops(self, op_type: str, *inputs: str, count: int, **attributes: Any) -> list[str]:
        """Return a node with `count` outputs."""
        label = f"{op_type}_{len(self._nodes)}"
        outputs = [f"{label}_{position}" for position in range(count)]
        self._nodes.append(helper.make_node(op_type, inputs, outputs, name=label, **attributes))
        return outputs

    def output(self, *values: str) -> None:
        """Return values whose types inference finds."""
        self._outputs += [onnx.ValueInfoProto(name=value) for value in values]

    def model(self) -> onnx.ModelProto:
        """Return the whole; ranks of outputs are as they are inferred."""
        graph = helper.make_graph(
            self._nodes, "opened", self._inputs, self._outputs, self._constants
        )
        opsets = [helper.make_opsetid("", self._opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def cut(name: str, array: Array) -> dict[str, Array]:
    """Return the feed that makes operand `name` `array`; beyond it the table is full of noise."""
    noise = np.random.default_rng(array.size).integers(1, 100, (LONGEST,) * array.ndim)
    table = noise.astype(array.dtype)
    table[tuple(slice(extent) for extent in array.shape)] = array
    shape = np.array(array.shape, np.int64)
    return {f"{name}_table": table, f"{name}_shape": shape}


class Loaded:
    """A model that is loaded in atc-py and in onnxruntime."""

    def __init__(self, model: Model, session: onnxruntime.InferenceSession, mode: str) -> None:
        self.model = model
        self._session = session
        self._mode = mode

    def agree(self, feeds: Mapping[str, Array], *, rounds: int = 1) -> dict[str, Array]:
        """Hold one run to onnxruntime on the operands that the mode computes with.

        Args:
            feeds: what is fed.
            rounds: how many kernels in a row round.
        """
        names = [output.name for output in self._session.get_outputs()]
        rounded = {name: self._rounded(array) for name, array in feeds.items()}
        expected = dict(zip(names, self._session.run(names, rounded), strict=True))
        found = self.model.run(dict(feeds))
        for name, wanted in expected.items():
            self._compare(found[name], np.asarray(wanted), rounds)
        return found

    def _rounded(self, array: Array) -> Array:
        """Return an operand as the mode computes with it."""
        if self._mode == KEEP or array.dtype != np.float32:
            return array
        return array.astype(np.float16).astype(np.float32)

    def _compare(self, found: Array, wanted: Array, rounds: int) -> None:
        """Check dtype, shape, and elements within what `rounds` kernels may round."""
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        dtype = DType.from_numpy(found.dtype)
        if self._mode != KEEP and dtype is DType.FLOAT32:
            dtype = DType.FLOAT16
        if rounds == 1 or not dtype.is_float:
            assert_close(found.astype(dtype.numpy), wanted, dtype)
            return
        unit = 2.0**-10 if dtype is DType.FLOAT16 else 1e-5
        reach = float(np.abs(wanted).max(initial=0.0))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=rounds * unit * reach)


@contextmanager
def loaded(
    model: onnx.ModelProto,
    mode: str = KEEP,
    *,
    reference: onnx.ModelProto | None = None,
    **options: Any,
) -> Iterator[Loaded]:
    """Load `model` by way of the compiler, and it or `reference` in onnxruntime.

    Specifications have no limits unless `op_specs` among the options says otherwise.
    """
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = 1
    session_options.log_severity_level = 4
    disabled = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session_options.graph_optimization_level = disabled
    data = (reference or model).SerializeToString()
    session = onnxruntime.InferenceSession(data, session_options, ["CPUExecutionProvider"])
    if "op_specs" not in options:
        options["op_specs"] = relaxed_specs(model)
    with tempfile.TemporaryDirectory() as folder:
        path, om = Path(folder) / "model.onnx", Path(folder) / "model.om"
        onnx.save(model, path)
        atc_py.convert(path, om, precision_mode=mode, verify=True, **options)
        with atc_py.load(om) as run:
            yield Loaded(run, session, mode)


def drawn_numbers(data: st.DataObject, shape: Sequence[int], dtype: Any = np.float32) -> Array:
    """Return multiples of 1/64, which float16 holds; both truth values."""
    generator = np.random.default_rng(data.draw(SEED))
    kind = np.dtype(dtype).kind
    if kind in "bu":
        return generator.integers(0, 2 if kind == "b" else 150, shape).astype(dtype)
    scale = 64 if kind == "f" else 1
    return np.asarray(generator.integers(-150, 150, shape) / scale).astype(dtype)


def drawn_shape(data: st.DataObject, rank: int, extent: st.SearchStrategy[int]) -> tuple[int, ...]:
    """Return a shape of `rank` axes."""
    return tuple(data.draw(extent) for _ in range(rank))


def agree_on_runs(
    data: st.DataObject,
    net: Opened,
    mode: str,
    draw_feeds: Callable[[], Mapping[str, Array]],
    rounds: int = 1,
) -> None:
    """Hold a few runs of one model to onnxruntime; none must disturb another."""
    runs = [draw_feeds() for _ in range(data.draw(st.integers(1, 3)))]
    with loaded(net.model(), mode) as model:
        for feeds in [*runs, runs[0]]:
            model.agree(feeds, rounds=rounds)
