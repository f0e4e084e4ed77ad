"""Data for a run: arrays from .npy, .npz, .pb and raw .bin files, or seeded random ones.

Over 400 lines: what is fed has one set of refusals.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from atc_py.diag import (
    ARRAY_OF_OTHER_NAME,
    BAD_RUN_INPUT,
    INPUT_NOT_FINITE,
    NO_SUCH_GEAR,
    Diagnostic,
    Place,
    Sink,
)
from atc_py.pipeline.running.array_files import broken_file, is_raw_pair, read_npy, read_npz
from atc_py.pipeline.running.folders import files_of_folder
from atc_py.pipeline.running.model import Port
from atc_py.system.input_files import opened
from atc_py.system.memory_limit import require_memory
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims, Shape, closed_shape, element_count, format_shape
from atc_py.text import Text

Array = npt.NDArray[np.generic]


_WIDEST = 8
"""Bytes of an element that a file may have, of any input."""

_AT_ONCE = 2**18
"""Elements that are drawn, or looked at, together: what that makes beside the array stays small."""

_UNREAD = 64 << 20
"""Bytes of an array that are read even if no input accepts it."""

_MOST_NAMES = 20
"""Names that a message lists."""

_INTEGER_SPAN = 16
"""Random integers are in [0, 16): small enough to be indices, large enough to differ."""


def read_feeds(
    given: Iterable[str], ports: Sequence[Port], sink: Sink | None = None
) -> dict[str, Array]:
    """Arrays from `name=file` texts; `file` alone serves one port, an .npz, or a folder."""
    feeds: dict[str, Array] = {}
    for text in given:
        name, path = _split(text, ports)
        if not path:
            raise BAD_RUN_INPUT.error(
                Text("{text} does not name a file", text=repr(text)),
                help=Text("write FILE or NAME=FILE"),
            )
        arrays = _read_path(Path(path), name, ports, Sink() if sink is None else sink)
        for twice in arrays.keys() & feeds.keys():
            raise BAD_RUN_INPUT.error(
                Text(
                    "data for {twice} are given twice, the second time in {path}",
                    twice=twice,
                    path=path,
                ),
                help=Text("give each name one file"),
            )
        feeds.update(arrays)
    return feeds


def odd_feeds(feeds: Mapping[str, Array]) -> Iterator[Diagnostic]:
    """Yield INPUT_NOT_FINITE for each array with NaN or infinities."""
    for name, array in feeds.items():
        count = count_odd_values(array)
        if count:
            nans = int(np.isnan(array).sum())
            found = [f"{nans} NaN"] * bool(nans) + [f"{count - nans} infinite"] * (count > nans)
            at = int(np.argmin(np.isfinite(array)))
            first = [int(each) for each in np.unravel_index(at, array.shape)]
            yield INPUT_NOT_FINITE.diagnostic(
                Text(
                    "input {name} has {actual} among {size} values, the first at index "
                    "{first}: {array}",
                    name=name,
                    actual=" and ".join(found),
                    size=array.size,
                    first=first,
                    array=array[tuple(first)],
                ),
                place=Place(field=Text("input {at}", at=name)),
            )


def count_odd_values(array: Array) -> int:
    if not DType.from_numpy(array.dtype).is_float:
        return 0
    flat = array.reshape(-1)
    parts = range(0, flat.size, _AT_ONCE)
    return sum(int((~np.isfinite(flat[start : start + _AT_ONCE])).sum()) for start in parts)


def random_feeds(ports: Iterable[Port], seed: int) -> dict[str, Array]:
    """Random arrays for all ports; the same seed gives the same arrays everywhere.

    Floats are standard normal, integers uniform in [0, 16), bools fair coins.

    Raises:
        AtcError: MEMORY_LIMIT where they would take more than the limit.
    """
    ports = list(ports)
    require_feeds(ports)
    return {
        port.name: random_array(port.dtype, _random_shape(port), [seed, position])
        for position, port in enumerate(ports)
    }


def require_feeds(ports: Iterable[Port]) -> None:
    """Refuse to make data for all `ports` that take more memory than the limit.

    Raises:
        AtcError: MEMORY_LIMIT at the largest input.
    """
    sizes = {
        port.name: element_count(_random_shape(port)) * max(port.dtype.itemsize, _WIDEST)
        for port in ports
    }
    if sizes:
        largest = max(sizes, key=sizes.__getitem__)
        require_memory(
            sum(sizes.values()),
            Text("random data for the inputs"),
            Place(field=Text("input {at}", at=largest)),
        )


def _random_shape(port: Port) -> Shape:
    """The shape of random data: the largest dims of ranges, the smallest without a limit."""
    if port.ranges:
        return tuple(dim.low if dim.high is None else dim.high for dim in port.ranges)
    return closed_shape(port.shape)


def random_array(dtype: DType, shape: Sequence[int], seed: Sequence[int]) -> Array:
    """One random array, as `random_feeds` describes."""
    generator = np.random.default_rng(list(seed))
    array: Array = np.empty(tuple(shape), dtype.numpy)
    flat, high = array.reshape(-1), 2 if dtype is DType.BOOL else _INTEGER_SPAN
    for start in range(0, flat.size, _AT_ONCE):  # the numbers are those of one draw
        part = flat[start : start + _AT_ONCE]
        if dtype.is_float:
            part[:] = generator.standard_normal(part.size, dtype=np.float32).astype(dtype.numpy)
        else:
            part[:] = generator.integers(0, high, part.size).astype(dtype.numpy)
    return array


def _split(text: str, ports: Sequence[Port]) -> tuple[str | None, str]:
    """(port name or None, path) of `name=path` or `path`; port names may contain `=`."""
    for port in ports:
        if text.startswith(f"{port.name}="):
            return port.name, text[len(port.name) + 1 :]
    name, separator, path = text.partition("=")
    if separator and not os.path.exists(text):  # noqa: PTH110  (a Path raises for long names)
        raise BAD_RUN_INPUT.error(
            Text('{path} is for "{name}", which the model does not have', path=path, name=name),
            help=Text("names are {known}", known=", ".join(port.name for port in ports)),
        )
    return None, text


def _read_path(path: Path, name: str | None, ports: Sequence[Port], sink: Sink) -> dict[str, Array]:
    if name is not None or not os.path.isdir(path):  # noqa: PTH112  (a Path raises for long names)
        return _read_arrays(path, name, ports, sink)
    found: dict[str, Array] = {}
    for each, file in files_of_folder(path, [port.name for port in ports if not port.hidden]):
        found |= _read_arrays(file, each, ports, sink)
    return found


def _read_arrays(
    path: Path, name: str | None, ports: Sequence[Port], sink: Sink
) -> dict[str, Array]:
    if path.suffix == ".npz":
        arrays = read_npz(path, _most_bytes(ports))
        if name is None:
            picked = _pick_all(arrays, ports, path, sink)
        else:
            picked = _picked_array(arrays, _port(name, ports, path), path)
        return {
            port.name: _with_stated_dtype(picked[port.name], port, path)
            for port in ports
            if port.name in picked
        }
    port = _port(name, ports, path)
    if path.suffix == ".npy":
        return {port.name: _with_stated_dtype(read_npy(path, _most_bytes([port])), port, path)}
    if path.suffix == ".pb":
        from atc_py.onnx_graph.reading.tensor_file import read_tensor

        return {port.name: read_tensor(path)}
    return {port.name: _load_raw(path, port)}


def _most_bytes(ports: Iterable[Port]) -> int | None:
    """The bytes beyond which an array is refused unread; below, both shapes are reported.

    None where a port has open dims.
    """
    sizes = [_UNREAD]
    for port in ports:
        if None in port.shape:
            return None
        elements = element_count(closed_shape(port.shape))
        sizes.append(elements * max(port.dtype.itemsize, _WIDEST))
    return max(sizes)


def _port(name: str | None, ports: Sequence[Port], path: Path) -> Port:
    if name is not None:
        return next(port for port in ports if port.name == name)
    ports = [port for port in ports if not port.hidden]
    if len(ports) != 1:
        names = ", ".join(port.name for port in ports)
        raise BAD_RUN_INPUT.error(
            Text(
                "{path} is given without a name, and there are {count} to choose from",
                path=path,
                count=len(ports),
            ),
            help=Text("write name={path}; names are {names}", path=path, names=names),
        )
    return ports[0]


def _picked_array(arrays: Mapping[str, Array], port: Port, path: Path) -> dict[str, Array]:
    """Pick the array of an .npz for the port that the user named: that of its name, or a lone one."""
    if port.name in arrays:
        return {port.name: arrays[port.name]}
    if len(arrays) == 1:
        return {port.name: next(iter(arrays.values()))}
    raise BAD_RUN_INPUT.error(
        Text(
            '{path} has no array "{port}"; it has {joined_names}',
            path=path,
            port=port.name,
            joined_names=_joined_names(arrays),
        ),
        place=Place(str(path)),
        help=Text("save the array as {port}, or in a file of its own", port=port.name),
    )


def _pick_all(
    arrays: Mapping[str, Array], ports: Sequence[Port], path: Path, sink: Sink
) -> dict[str, Array]:
    """Pick the arrays of an .npz by port name; use a lone one for a lone port, with a warning."""
    names = [port.name for port in ports]
    unknown = sorted(set(arrays) - set(names))
    if not unknown:
        return dict(arrays)
    names = [port.name for port in ports if not port.hidden]
    if len(arrays) > 1 or len(names) > 1:
        raise BAD_RUN_INPUT.error(
            Text(
                "{path} has arrays for names that the model does not have: {joined_names}",
                path=path,
                joined_names=_joined_names(unknown),
            ),
            place=Place(str(path)),
            help=Text(
                "names are {joined_names}; save the arrays under them, or write NAME={path} "
                "for a file with one array",
                joined_names=_joined_names(names),
                path=path,
            ),
        )
    sink.add(
        ARRAY_OF_OTHER_NAME.diagnostic(
            Text(
                '{path} has one array, "{unknown}"; it is used for "{names}"',
                path=path,
                unknown=unknown[0],
                names=names[0],
            ),
            place=Place(str(path)),
            help=Text("write {names}={path} if that is intended", names=names[0], path=path),
        )
    )
    return {names[0]: arrays[unknown[0]]}


def _joined_names(names: Iterable[str]) -> str:
    rows = list(names)
    more = Text(" and {left} more", left=len(rows) - _MOST_NAMES) if len(rows) > _MOST_NAMES else ""
    return ", ".join(rows[:_MOST_NAMES]) + more


def _with_stated_dtype(array: Array, port: Port, path: Path) -> Array:
    """`array` with the port's dtype if its file could not name it: numpy has no bfloat16."""
    if not is_raw_pair(array.dtype):
        return array
    if port.dtype is not DType.BFLOAT16:
        raise broken_file(
            path,
            Text(
                "its elements are two bytes without a type, {port} is {dtype}",
                port=port.name,
                dtype=port.dtype.value,
            ),
        )
    return array.view(port.dtype.numpy)


def _load_raw(path: Path, port: Port) -> Array:
    """A raw file of little-endian elements, as long as the port's type says.

    Of pictures whose settings come with the run it may be shorter, and has one axis then.
    """
    if port.gears:
        port = replace(port, shape=_shape_by_size(path, port), gears=())
    if None in port.shape:
        raise BAD_RUN_INPUT.error(
            Text(
                "{path} has no shape, and that of {port}, {dtype} {shape}, is known only at run "
                "time",
                path=path,
                port=port.name,
                dtype=port.dtype.value,
                shape=format_shape(port.shape),
            ),
            place=Place(str(path)),
            help=Text("save the array as .npy, which has one"),
        )
    wanted = element_count(closed_shape(port.shape)) * port.dtype.itemsize
    require_memory(wanted, Text("data for {port}", port=port.name), Place(str(path)))
    with opened(path) as file:
        # One byte more than wanted tells a file that is too long; a device never ends.
        data = file.read(wanted + 1)
        size = max(len(data), os.fstat(file.fileno()).st_size)
    if port.partial and 0 < len(data) < wanted:
        return np.frombuffer(data, port.dtype.numpy)
    if len(data) != wanted:
        raise BAD_RUN_INPUT.error(
            Text(
                "{port} takes {wanted} bytes ({dtype} {shape}), {path}, which is read as raw "
                "bytes, has {size}",
                port=port.name,
                wanted=wanted,
                dtype=port.dtype.value,
                shape=format_shape(port.shape),
                path=path,
                size=size,
            ),
            place=Place(str(path)),
            help=Text("arrays with a shape and a dtype are saved as .npy, .npz or .pb"),
        )
    return np.frombuffer(data, port.dtype.numpy).reshape(closed_shape(port.shape))


def _shape_by_size(path: Path, port: Port) -> Dims:
    """The shape of the one gear of a port that takes as many bytes as a raw file has."""
    sizes = {
        shape: element_count(closed_shape(shape)) * port.dtype.itemsize
        for shape in port.gears
        if None not in shape
    }
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
    fitting = [shape for shape, wanted in sizes.items() if wanted == size]
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(
        f"{wanted} ({format_shape(shape)})" for shape, wanted in list(sizes.items())[:_MOST_NAMES]
    )
    which = Text("several gears take") if fitting else Text("no gear takes")
    raise NO_SUCH_GEAR.error(
        Text(
            "{path}, which is read as raw bytes, has {size}, and {which} as many for {port}",
            path=path,
            size=size,
            which=which,
            port=port.name,
        ),
        place=Place(str(path)),
        help=Text(
            "bytes of the gears: {listed}; name the gear with --gear where sizes do not decide",
            listed=listed,
        ),
    )
