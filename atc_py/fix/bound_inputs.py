"""Inputs that the user gives a value: they become constants."""

from collections.abc import Mapping

import numpy as np

from atc_py.diag.codes import BAD_OPTION
from atc_py.ir import DenseConst
from atc_py.onnx_graph.folding.graph import WorkGraph
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.system.memory_limit import require_memory
from atc_py.tensor.shapes import element_count
from atc_py.text import Text


def bind_inputs(graph: WorkGraph, values: Mapping[str, float]) -> None:
    """Make inputs constants that are filled with one value.

    Raises:
        AtcError: BAD_OPTION for an input that the model does not have, or whose dims are open.
    """
    for name, value in values.items():
        if name not in graph.inputs:
            raise BAD_OPTION.error(
                Text("the model has no input {name} to bind", name=repr(name)),
                help=Text("its inputs are {names}", names=", ".join(graph.inputs)),
            )
        known = graph.inputs[name]
        dtype, shape = dtype_of_element(known.element), known.shape
        if dtype is None or shape is None:
            raise BAD_OPTION.error(
                Text("input {name} cannot be bound: its dims are open", name=repr(name)),
                help=Text("give them with --input-shape {name}:...", name=name),
            )
        require_memory(
            element_count(shape) * dtype.itemsize,
            Text("input {name}, bound to one value,", name=repr(name)),
        )
        graph.consts[name] = DenseConst(np.full(shape, value, dtype.numpy))
