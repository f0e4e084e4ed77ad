"""Samples to calibrate with or to compare on, read one at a time: files, rows of arrays, arrays, random numbers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import BAD_OPTION, BAD_SAMPLE, NO_SAMPLES, SAMPLE_NOT_FINITE, Place, Sink
from atc_py.pipeline.running.feeds import count_odd_values, random_feeds
from atc_py.pipeline.running.model import Port
from atc_py.pipeline.running.sample_files import FileSamples
from atc_py.pipeline.running.sample_rows import RowSamples
from atc_py.system.cache_folders import exists
from atc_py.tensor.shapes import format_shape
from atc_py.text import Text

Feeds = Mapping[str, NDArray[Any]]


class SampleFeeds(NamedTuple):
    """One run's inputs."""

    label: str  # what messages call it
    feeds: Feeds  # arrays by the names of the model's inputs


class Samples(Protocol):
    """Samples that can be gone through several times; one at a time is in memory."""

    count: int

    def __iter__(self) -> Iterator[tuple[str, Feeds]]: ...


class ArraySamples:
    """Arrays that a program gives."""

    def __init__(self, given: Sequence[Feeds], positions: Sequence[int] | None = None) -> None:
        self._given = given
        self._positions = range(len(given)) if positions is None else positions
        self.count = len(self._positions)

    def __iter__(self) -> Iterator[tuple[str, Feeds]]:
        for position in self._positions:
            feeds = self._given[position]
            yield (
                Text("sample {position}", position=position),
                {name: np.asarray(each) for name, each in feeds.items()},
            )

    def chosen(self, positions: Sequence[int]) -> ArraySamples:
        """Those at some positions; they keep their labels."""
        return ArraySamples(self._given, positions)


class RandomSamples:
    """Random numbers; the same seed gives the same samples."""

    def __init__(self, ports: Sequence[Port], count: int, seed: int) -> None:
        self._ports, self._seed = ports, seed
        self.count = count

    def __iter__(self) -> Iterator[tuple[str, Feeds]]:
        for position in range(self.count):
            yield (
                Text("random sample {position}", position=position),
                random_feeds(self._ports, self._seed + position),
            )


def open_samples(
    given: Sequence[str | os.PathLike[str]],
    ports: Sequence[Port],
    sink: Sink,
    option: str = "--data",
) -> Samples:
    """The samples in files, by `PATH` or `NAME=PATH` texts.

    A path is a folder with one file, or one folder, for each sample, or an array file with the
    samples along the first axis. Messages call the `option` that gives them so.

    Raises:
        AtcError: NO_SAMPLES where there are none; BAD_OPTION for a name that is not an input's.
    """
    named = named_paths(given, ports, option)
    return RowSamples(named, ports) if has_rows(named) else FileSamples(named, ports, sink)


def has_rows(named: Sequence[tuple[str | None, Path]]) -> bool:
    """True if files have the samples along the first axis of their arrays."""
    return all(path.is_file() and path.suffix in {".npy", ".npz"} for _, path in named)


def named_paths(
    given: Sequence[str | os.PathLike[str]], ports: Sequence[Port], option: str
) -> list[tuple[str | None, Path]]:
    """(input or None, path) of each `PATH` or `NAME=PATH` text.

    Raises:
        AtcError: NO_SAMPLES for a path that does not exist; BAD_OPTION for a name that is not an
            input's, and for several texts of which one has no name.
    """
    named = [_split(str(text), ports, option) for text in given]
    if len(named) > 1 and any(name is None for name, _ in named):
        raise BAD_OPTION.error(
            Text(
                "{option} is given several times, and not every time with the name of an input",
                option=option,
            ),
            help=Text("write {option} NAME=PATH for each input", option=option),
        )
    for _, path in named:
        if not exists(path):
            raise NO_SAMPLES.error(
                Text("{path} does not exist", path=path),
                place=Place(str(path)),
                help=Text("check the path of {option}", option=option),
            )
    return named


def checked(
    samples: Samples | Iterable[tuple[str, Feeds]], ports: Sequence[Port]
) -> Iterator[SampleFeeds]:
    """Yield samples that the model takes.

    Raises:
        AtcError: BAD_SAMPLE for another dtype or shape; SAMPLE_NOT_FINITE; what reading raises.
    """
    for label, feeds in samples:
        for port in ports:
            if port.name not in feeds:
                raise BAD_SAMPLE.error(
                    Text("{label} lacks the input {port}", label=label, port=repr(port.name)),
                    place=Place(label, field=Text("input {at}", at=port.name)),
                    help=Text(
                        "the model takes {ports}", ports=", ".join(each.name for each in ports)
                    ),
                )
        own = {}
        for port in ports:
            array = feeds[port.name]
            if not array.dtype.isnative:  # a .npy file may have the other byte order
                array = array.astype(array.dtype.newbyteorder("="))
            own[port.name] = array
            _check(label, port, array)
        yield SampleFeeds(label, own)


def evenly(count: int, most: int) -> range:
    """The positions of at most so many samples, at even distances."""
    return range(0, count, max(-(-count // max(most, 1)), 1))


def _check(label: str, port: Port, array: NDArray[Any]) -> None:
    place = Place(label, field=Text("input {at}", at=port.name))
    if array.dtype != port.dtype.numpy:
        raise BAD_SAMPLE.error(
            Text(
                "{label} has {dtype} for {port}, which takes {dtype_2}",
                label=label,
                dtype=array.dtype.name,
                port=repr(port.name),
                dtype_2=port.dtype.value,
            ),
            place=place,
            help=Text("save it with `array.astype({numpy})`", numpy=repr(port.dtype.numpy.name)),
        )
    fits = len(array.shape) == len(port.shape) and all(
        wanted in {None, dim} for dim, wanted in zip(array.shape, port.shape, strict=True)
    )
    if not fits:
        raise BAD_SAMPLE.error(
            Text(
                "{path} has the shape {shape} for {port}, which takes {shape_2}",
                path=label,
                shape=format_shape(array.shape),
                port=repr(port.name),
                shape_2=format_shape(port.shape),
            ),
            place=place,
            help=Text("save each sample in the shape that one run takes, the batch axis included"),
        )
    odd = count_odd_values(array)
    if odd:
        nans = int(np.isnan(array).sum())
        raise SAMPLE_NOT_FINITE.error(
            Text(
                "{label} has {nans} NaN and {odd} infinite among {size} values of {port}",
                label=label,
                nans=nans,
                odd=odd - nans,
                size=array.size,
                port=repr(port.name),
            ),
            place=place,
            help=Text("remove the sample, or fix the preprocessing that made it"),
        )


def _split(text: str, ports: Sequence[Port], option: str) -> tuple[str | None, Path]:
    """(input or None, path) of `PATH` or `NAME=PATH`."""
    for port in ports:
        if text.startswith(f"{port.name}="):
            return port.name, Path(text[len(port.name) + 1 :])
    name, separator, path = text.partition("=")
    if separator and path and not exists(text):
        raise BAD_OPTION.error(
            Text(
                "{option} {text}: the model has no input {name}",
                option=option,
                text=text,
                name=repr(name),
            ),
            help=Text("inputs are {ports}", ports=", ".join(port.name for port in ports)),
        )
    return None, Path(text)
