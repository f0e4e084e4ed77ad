"""Data for a run: arrays from .npy, .npz, .pb and raw .bin files, or seeded random ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import AtcError, Place
from atc_py.diag.codes import BAD_RUN_INPUT
from atc_py.running.array_files import broken_file, is_raw_pair, read_npy, read_npz
from atc_py.system.input_files import opened
from atc_py.system.memory_limit import require_memory
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import closed_shape, element_count, format_shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from atc_py.running.model import Port

    Array = npt.NDArray[np.generic]

__all__ = ["random_array", "random_feeds", "read_feeds", "require_feeds"]

_DRAWN = 8
"""Bytes of a number as it is drawn, before it gets its dtype."""

_UNREAD = 64 << 20
"""Bytes of an array that are read whatever the model takes."""

_INTEGER_SPAN = 16
"""Random integers lie in [0, 16): small enough to be indices, large enough to differ."""


def read_feeds(given: Iterable[str], ports: Sequence[Port]) -> dict[str, Array]:
    """Arrays from `name=file` texts, or `file` alone for a model with one port or an .npz.

    Raises:
        AtcError: a file cannot be read, names something that is not among the ports, or is the
            second one for a port; a text names no file.
    """
    feeds: dict[str, Array] = {}
    for text in given:
        name, path = _split(text, ports)
        if not path:
            raise BAD_RUN_INPUT.error(f"{text!r} names no file", help="write FILE or NAME=FILE")
        arrays = _read(Path(path), name, ports)
        for twice in arrays.keys() & feeds.keys():
            raise BAD_RUN_INPUT.error(
                f"data for {twice} are given twice, the second time in {path}",
                help="give each name one file",
            )
        feeds.update(arrays)
    return feeds


def random_feeds(ports: Iterable[Port], seed: int) -> dict[str, Array]:
    """Random arrays for all ports; the same seed gives the same arrays everywhere.

    Floats are standard normal, integers uniform in [0, 16), bools fair coins.

    Raises:
        AtcError: MEMORY_LIMIT where they would take more than the limit.
    """
    ports = list(ports)
    require_feeds(ports)
    return {
        port.name: random_array(port.dtype, closed_shape(port.shape), [seed, position])
        for position, port in enumerate(ports)
    }


def require_feeds(ports: Iterable[Port]) -> None:
    """Refuse to make data for all `ports` that take more memory than the limit.

    Raises:
        AtcError: MEMORY_LIMIT at the largest input.
    """
    sizes = {
        port.name: element_count(closed_shape(port.shape)) * max(port.dtype.itemsize, _DRAWN)
        for port in ports
    }
    if sizes:
        largest = max(sizes, key=sizes.__getitem__)
        require_memory(
            sum(sizes.values()), "random data for the inputs", Place(field=f"input {largest}")
        )


def random_array(dtype: DType, shape: Sequence[int], seed: Sequence[int]) -> Array:
    """One random array, as `random_feeds` describes."""
    generator = np.random.default_rng(list(seed))
    if dtype.is_float:
        return generator.standard_normal(tuple(shape), dtype=np.float32).astype(dtype.numpy)
    high = 2 if dtype is DType.BOOL else _INTEGER_SPAN
    return generator.integers(0, high, tuple(shape)).astype(dtype.numpy)


def _split(text: str, ports: Sequence[Port]) -> tuple[str | None, str]:
    """(port name or None, path) of `name=path` or `path`; port names may contain `=`."""
    for port in ports:
        if text.startswith(f"{port.name}="):
            return port.name, text[len(port.name) + 1 :]
    name, separator, path = text.partition("=")
    if separator and not os.path.exists(text):  # noqa: PTH110  (a Path raises for long names)
        raise _unknown(name, ports, path)
    return None, text


def _read(path: Path, name: str | None, ports: Sequence[Port]) -> dict[str, Array]:
    """The arrays in `path`, by port name."""
    if path.suffix == ".npz":
        picked = _pick(read_npz(path, _most(ports)), name, ports, path)
        return {
            port.name: _meant(picked[port.name], port, path)
            for port in ports
            if port.name in picked
        }
    port = _port(name, ports, path)
    if path.suffix == ".npy":
        return {port.name: _meant(read_npy(path, _most([port])), port, path)}
    if path.suffix == ".pb":
        from atc_py.frontend.reading.tensor_file import read_tensor

        return {port.name: read_tensor(path)}
    return {port.name: _load_raw(path, port)}


def _most(ports: Iterable[Port]) -> int | None:
    """Bytes beyond which an array is refused unread; below, the refusal tells both shapes.

    None where a port has open extents.
    """
    sizes = [_UNREAD]
    for port in ports:
        if None in port.shape:
            return None
        elements = element_count(closed_shape(port.shape))
        sizes.append(elements * max(port.dtype.itemsize, _DRAWN))
    return max(sizes)


def _port(name: str | None, ports: Sequence[Port], path: Path) -> Port:
    """The port called `name`, or the only one."""
    if name is not None:
        return next(port for port in ports if port.name == name)
    if len(ports) != 1:
        names = ", ".join(port.name for port in ports)
        raise BAD_RUN_INPUT.error(
            f"{path} is given without a name, and there are {len(ports)} to choose from",
            help=f"write name={path}; names are {names}",
        )
    return ports[0]


def _pick(
    arrays: Mapping[str, Array], name: str | None, ports: Sequence[Port], path: Path
) -> dict[str, Array]:
    """The arrays of an .npz by port name; a lone array fits a lone port under any name."""
    if name is not None or (len(arrays) == 1 and len(ports) == 1):
        port = _port(name, ports, path)
        if port.name in arrays or len(arrays) == 1:
            return {port.name: arrays.get(port.name, next(iter(arrays.values())))}
        raise _unknown(port.name, ports, str(path))
    unknown = sorted(set(arrays) - {port.name for port in ports})
    if unknown:
        raise _unknown(unknown[0], ports, str(path))
    return dict(arrays)


def _meant(array: Array, port: Port, path: Path) -> Array:
    """`array` with the element type that its file could not name: numpy has no bfloat16."""
    if not is_raw_pair(array.dtype):
        return array
    if port.dtype is not DType.BFLOAT16:
        raise broken_file(
            path, f"its elements are two bytes without a type, {port.name} is {port.dtype.value}"
        )
    return array.view(port.dtype.numpy)


def _load_raw(path: Path, port: Port) -> Array:
    """A raw file of little-endian elements, as long as the port's type says."""
    if None in port.shape:
        raise BAD_RUN_INPUT.error(
            f"{path} has no shape, and only the run knows that of {port.name}, "
            f"{port.dtype.value} {format_shape(port.shape)}",
            place=Place(str(path)),
            help="save the array as .npy, which has one",
        )
    wanted = element_count(closed_shape(port.shape)) * port.dtype.itemsize
    require_memory(wanted, f"data for {port.name}", Place(str(path)))
    with opened(path) as file:
        # One byte more than wanted tells a file that is too long; a device never ends.
        data = file.read(wanted + 1)
        size = max(len(data), os.fstat(file.fileno()).st_size)
    if len(data) != wanted:
        raise BAD_RUN_INPUT.error(
            f"{port.name} takes {wanted} bytes ({port.dtype.value} {format_shape(port.shape)}), "
            f"{path} has {size}",
            place=Place(str(path)),
        )
    return np.frombuffer(data, port.dtype.numpy).reshape(closed_shape(port.shape))


def _unknown(name: str, ports: Sequence[Port], path: str) -> AtcError:
    """The diagnostic for data under a name that the model does not have."""
    known = ", ".join(port.name for port in ports)
    return BAD_RUN_INPUT.error(
        f'{path} is for "{name}", which the model does not have', help=f"names are {known}"
    )
