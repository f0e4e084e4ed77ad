"""Inputs that the user gives a value: they become constants."""

from collections.abc import Mapping

import numpy as np

from atc_py.diag.codes import BAD_OPTION
from atc_py.frontend.folding.graph import WorkGraph
from atc_py.frontend.reading.tensors import dtype_of_element
from atc_py.ir import DenseConst
from atc_py.system.memory_limit import require_memory
from atc_py.tensor.shapes import element_count


def bind_inputs(graph: WorkGraph, values: Mapping[str, float]) -> None:
    """Make inputs constants that are filled with one value.

    Raises:
        AtcError: BAD_OPTION for an input that the model does not have, or whose dims are open.
    """
    for name, value in values.items():
        if name not in graph.inputs:
            raise BAD_OPTION.error(
                f"the model has no input {name!r} to bind",
                help=f"its inputs are {', '.join(graph.inputs)}",
            )
        known = graph.inputs[name]
        dtype, shape = dtype_of_element(known.element), known.shape
        if dtype is None or shape is None:
            raise BAD_OPTION.error(
                f"input {name!r} cannot be bound: its dims are open",
                help=f"give them with --input-shape {name}:...",
            )
        require_memory(
            element_count(shape) * dtype.itemsize, f"input {name!r}, bound to one value,"
        )
        graph.consts[name] = DenseConst(np.full(shape, value, dtype.numpy))
