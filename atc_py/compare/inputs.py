"""Random data that fit the roles of a model's inputs."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from atc_py.compare.input_roles import Role
from atc_py.pipeline.running.feeds import random_array, require_feeds
from atc_py.pipeline.running.model import Port
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import closed_shape

Array = npt.NDArray[np.generic]


def fitting_feeds(ports: Sequence[Port], roles: Mapping[str, Role], seed: int) -> dict[str, Array]:
    """Random arrays for all ports; the same seed gives the same arrays.

    Indices are within the table that they select from and include its last row; lengths are between 1 and
    that of their sequence. Inputs with `mask` in their
    names are ones, then zeros from some place in the second half of the last axis on. Others are
    as `random_feeds` makes them.
    """
    require_feeds(ports)
    shapes = {port.name: port.shape for port in ports}
    found = {}
    for position, port in enumerate(ports):
        role = roles.get(port.name, Role())
        generator = np.random.default_rng([seed, position])
        shape = closed_shape(port.shape)
        if role.ids is not None:
            found[port.name] = _ids(generator, shape, role).astype(port.dtype.numpy)
        elif role.lengths_of:
            longest = shapes.get(role.lengths_of, (1,))[0] or 1
            found[port.name] = generator.integers(1, longest + 1, shape).astype(port.dtype.numpy)
        elif _is_mask(port):
            found[port.name] = _mask(generator, shape).astype(port.dtype.numpy)
        else:
            found[port.name] = random_array(port.dtype, shape, [seed, position])
    return found


def _is_mask(port: Port) -> bool:
    return "mask" in port.name.lower() or (
        port.dtype is DType.BOOL and "valid" in port.name.lower()
    )


def _ids(generator: np.random.Generator, shape: Sequence[int], role: Role) -> npt.NDArray[np.int64]:
    """Indices from the first to the last one, which is among them."""
    end = max(role.ids or 0, role.first + 1)
    ids = generator.integers(role.first, end, tuple(shape))
    if ids.size > 1:
        ids.flat[0] = end - 1
    return ids


def _mask(generator: np.random.Generator, shape: Sequence[int]) -> npt.NDArray[np.int64]:
    """Ones up to some position in the second half of the last axis, zeros after it."""
    if not shape:
        return np.ones((), np.int64)
    length = shape[-1]
    ends = generator.integers(length // 2, length + 1, (*shape[:-1], 1))
    return (np.arange(length) < np.maximum(ends, 1)).astype(np.int64)
