"""Samples along the first axis of arrays in one file, or in one file for each input."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
from numpy.typing import NDArray

from atc_py.diag import BAD_SAMPLE, NO_SAMPLES, Place
from atc_py.pipeline.running.array_files import ArrayHeader, ArrayRows, array_headers, open_rows
from atc_py.pipeline.running.model import Port
from atc_py.tensor.shapes import format_shape
from atc_py.text import Text


class _Stack(msgspec.Struct, frozen=True):
    """An array with samples along its first axis."""

    port: str  # name of the input that it is for
    path: Path
    member: str  # its name there
    rows: int  # rows of one sample
    has_own_axis: bool  # True if the axis of samples is not one of the input
    count: int

    def next(self, arrays: Mapping[str, ArrayRows]) -> NDArray[Any]:
        found = arrays[self.member].read(self.rows)
        return found[0, ...] if self.has_own_axis else found  # an array also without axes


class RowSamples:
    """Samples along the first axis of arrays."""

    def __init__(self, named: Sequence[tuple[str | None, Path]], ports: Sequence[Port]) -> None:
        self._stacks = [
            _stack(path, each, port)
            for name, path in named
            for each, port in _with_ports(path, array_headers(path), name, ports)
        ]
        counts = {each.port: each.count for each in self._stacks}
        self._path = named[0][1]
        if len(set(counts.values())) != 1 or not min(counts.values()):
            found = ", ".join(f"{name}: {count}" for name, count in counts.items())
            raise NO_SAMPLES.error(
                Text(
                    "{path} has no samples that all inputs share: {actual}",
                    path=self._path,
                    actual=found,
                ),
                place=Place(str(self._path)),
                help=Text("save the same number of samples for each input, along the first axis"),
            )
        self.count = next(iter(counts.values()))

    def __iter__(self) -> Iterator[tuple[str, dict[str, NDArray[Any]]]]:
        with ExitStack() as stack:
            paths = dict.fromkeys(each.path for each in self._stacks)
            files = {path: stack.enter_context(open_rows(path)) for path in paths}
            for position in range(self.count):
                feeds = {each.port: each.next(files[each.path]) for each in self._stacks}
                yield Text("{path}, sample {position}", path=self._path, position=position), feeds


def _with_ports(
    path: Path, found: Sequence[ArrayHeader], name: str | None, ports: Sequence[Port]
) -> list[tuple[ArrayHeader, Port]]:
    """Arrays of a file with the inputs that they are for.

    An array is for the input of its name; one alone is for the input that the user names, or for the
    only one that takes data without a name.
    """
    by_name = {port.name: port for port in ports}
    if name is not None:
        own = [each for each in found if each.name == name] or found[: len(found) == 1]
        if own:
            return [(own[0], by_name[name])]
        raise BAD_SAMPLE.error(
            Text(
                "{path} has {count} arrays, and none is called {name}",
                path=path,
                count=len(found),
                name=repr(name),
            ),
            place=Place(str(path), field=Text("input {at}", at=name)),
            help=Text("save the array as {port}, or in a file of its own", port=name),
        )
    open_ports = [port for port in ports if not port.hidden]
    strange = [each for each in found if each.name not in by_name]
    if not strange:
        return [(each, by_name[each.name]) for each in found]
    lone = open_ports[0] if len(open_ports) == len(strange) == 1 else None
    if lone is not None and all(each.name != lone.name for each in found):
        return [(each, by_name.get(each.name, lone)) for each in found]
    raise BAD_SAMPLE.error(
        Text(
            "{path} has an array {name}, and the model has no input of that name",
            path=path,
            name=repr(strange[0].name),
        ),
        place=Place(str(path)),
        help=Text(
            "inputs are {by_name}; save the arrays under their names in an .npz",
            by_name=", ".join(by_name),
        ),
    )


def _stack(path: Path, found: ArrayHeader, port: Port) -> _Stack:
    """An array as samples of an input.

    The first axis of the array is that of samples, or that of batches where the input has one: then
    it is cut into as many rows as the input takes, 1 where that is open.
    """
    own, dims = found.shape, port.shape
    if len(own) == len(dims) + 1 and _alike(own[1:], dims):
        return _Stack(port.name, path, found.name, 1, has_own_axis=True, count=own[0])
    rows = (dims[0] if dims and dims[0] is not None else 1) or 1
    if not dims or len(own) != len(dims) or not _alike(own[1:], dims[1:]):
        raise BAD_SAMPLE.error(
            Text(
                "{path} has the shape {shape} for {port}, which takes {shape_2}",
                path=path,
                shape=format_shape(own),
                port=repr(port.name),
                shape_2=format_shape(dims),
            ),
            place=Place(str(path), field=Text("input {at}", at=port.name)),
            help=Text("the first axis is that of samples, the others are those of the input"),
        )
    if own[0] % rows:
        raise NO_SAMPLES.error(
            Text(
                "{path} has {own} rows for {port}, which takes {rows} at a time",
                path=path,
                own=own[0],
                port=repr(port.name),
                rows=rows,
            ),
            place=Place(str(path), field=Text("input {at}", at=port.name)),
            help=Text("give a multiple of {rows} rows", rows=rows),
        )
    return _Stack(port.name, path, found.name, rows, has_own_axis=False, count=own[0] // rows)


def _alike(own: Sequence[int], dims: Sequence[int | None]) -> bool:
    """True if dims of an array are those of an input, as far as these are known."""
    return all(wanted in {None, dim} for dim, wanted in zip(own, dims, strict=True))
