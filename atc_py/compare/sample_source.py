"""The samples of a comparison: random data, files or arrays; one at a time is in memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from atc_py.compare.inputs import fitting_feeds
from atc_py.diag import AtcError, Sink
from atc_py.diag.codes import BAD_OPTION, BAD_SAMPLE, NO_SAMPLES
from atc_py.running.array_rows import array_headers
from atc_py.running.samples import (
    ARRAY_FILES,
    ArraySamples,
    checked,
    named_paths,
    samples_of_paths,
)
from atc_py.tensor.shapes import format_shape

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from atc_py.compare.input_roles import Role
    from atc_py.package.schema import OmModel
    from atc_py.running.model import Port
    from atc_py.running.samples import Samples

    Feeds = Mapping[str, NDArray[Any]]
    PathText = str | os.PathLike[str]
    FileChoice = PathText | Sequence[PathText] | Sequence[Mapping[str, Any]]

__all__ = [
    "DrawnSamples",
    "GivenSamples",
    "NoFittingSampleError",
    "SamplesOfGears",
    "given_source",
]

_OPTION = "--samples"


class DrawnSamples:
    """Random data that fit the roles of inputs, beside arrays that are given."""

    def __init__(
        self,
        ports: Sequence[Port],
        roles: Mapping[str, Role],
        given: Feeds,
        draws: tuple[int, int],
    ) -> None:
        """Prepare the samples; `draws` are their number and the first one's seed.

        Raises:
            AtcError: BAD_OPTION where there are none, or all would be the same.
        """
        if draws[0] < 1:
            raise BAD_OPTION.error(f"samples must be 1 or more, found {draws[0]}")
        self._ports, self._roles, self._given = ports, roles, given
        self.count, self._seed = draws
        if self.count > 1 and len(given) == len(ports):
            raise BAD_OPTION.error(
                f"{self.count} samples of data that are all given would be the same",
                help="leave --samples out, or leave an input to random data",
            )

    def __iter__(self) -> Iterator[tuple[str, Feeds]]:
        """Yield the samples."""
        for seed in range(self._seed, self._seed + self.count):
            feeds = fitting_feeds(self._ports, self._roles, seed)
            yield f"random data of seed {seed}", {**feeds, **self._given}


class GivenSamples:
    """Samples of files or arrays, beside arrays that are the same in all of them.

    Attributes:
        count: how many there are.
    """

    def __init__(self, samples: Samples, ports: Sequence[Port], given: Feeds) -> None:
        """Take samples of `ports`; other inputs are `given`."""
        self._samples, self._ports, self._given = samples, ports, given
        self.count = samples.count

    def __iter__(self) -> Iterator[tuple[str, Feeds]]:
        """Yield the samples."""
        for label, feeds in checked(self._samples, self._ports):
            yield label, {**feeds, **self._given}


class NoFittingSampleError(AtcError):
    """Refusal of samples of which none fits the shapes of a gear."""


class SamplesOfGears:
    """Samples of which each gear takes those that fit its shapes.

    Attributes:
        given: as the user gives them.
        total: how many there are; 0 while no gear has taken any.
        taken: positions of those that a gear has taken.
    """

    def __init__(self, given: FileChoice) -> None:
        self.given = given
        self.total = 0
        self.taken: set[int] = set()

    @property
    def unused(self) -> int:
        """How many samples fit no gear."""
        return self.total - len(self.taken)


class _Fitting:
    """The samples that fit the shapes of a gear.

    Attributes:
        count: how many there are.
    """

    def __init__(self, samples: Samples, ports: Sequence[Port], shared: SamplesOfGears) -> None:
        """Read each sample once.

        Raises:
            AtcError: NO_SAMPLES where none fits; what reading raises.
        """
        self._samples = samples
        self._positions = {at for at, (_, feeds) in enumerate(samples) if _fits(feeds, ports)}
        self.count = len(self._positions)
        shared.total = max(shared.total, samples.count)
        shared.taken |= self._positions
        if not self.count:
            raise _none_fits(ports)

    def __iter__(self) -> Iterator[tuple[str, Feeds]]:
        """Yield the samples."""
        for at, each in enumerate(self._samples):
            if at in self._positions:
                yield each


def given_source(
    samples: FileChoice | SamplesOfGears,
    ports: Sequence[Port],
    given: Feeds,
    description: OmModel | None = None,
) -> GivenSamples:
    """Return the samples in files, or of arrays.

    Args:
        samples: as the user gives them; of those of gears, these that fit the ports are taken.
        ports: the inputs of the compiled model.
        given: inputs that are the same in all samples.
        description: the compiled model, where it has inputs that take pictures.

    Raises:
        AtcError: NO_SAMPLES where there are none; BAD_SAMPLE for arrays that fit no input;
            BAD_OPTION for an input that is in the samples and `given`.
    """
    own = [port for port in ports if port.name not in given]
    if not own:
        raise BAD_OPTION.error(
            "--input gives every input, so that samples have none",
            help="leave --samples out, or leave an input to the samples",
        )
    if not isinstance(samples, SamplesOfGears):
        return GivenSamples(_unchecked(samples, own, given, description), own, given)
    try:
        found = _unchecked(samples.given, own, given, description)
    except AtcError as error:
        if {each.code for each in error.diagnostics} == {BAD_SAMPLE}:
            raise _none_fits(own) from error  # arrays of many samples have one shape
        raise
    return GivenSamples(_Fitting(found, own, samples), own, given)


def _unchecked(
    samples: FileChoice, ports: Sequence[Port], given: Feeds, description: OmModel | None
) -> Samples:
    """Return samples of any shapes; arguments as of `given_source`, `ports` without what is given.

    Raises:
        AtcError: NO_SAMPLES, BAD_SAMPLE and BAD_OPTION, as there.
    """
    listed = [samples] if isinstance(samples, str | os.PathLike) else [*samples]
    if not listed:
        raise NO_SAMPLES.error("there are no samples", help="give one or more")
    texts = [os.fspath(each) for each in listed if isinstance(each, str | os.PathLike)]
    found: Samples
    if texts:
        found = _of_files(texts, ports, given, description)
    else:
        arrays = [each for each in listed if not isinstance(each, str | os.PathLike)]
        _refuse_twice({name for each in arrays for name in each}, given)
        found = ArraySamples(arrays)
    if description is not None:
        from atc_py.running.picture_samples import FilledSamples

        found = FilledSamples(found, description, given)
    return found


def _fits(feeds: Feeds, ports: Sequence[Port]) -> bool:
    """Return True if the shapes of a sample are those of the inputs."""
    return all(port.name not in feeds or feeds[port.name].shape == port.shape for port in ports)


def _none_fits(ports: Sequence[Port]) -> NoFittingSampleError:
    """Return the refusal of samples of which none fits."""
    shapes = "; ".join(f"{port.name}:{format_shape(port.shape)}" for port in ports)
    return NoFittingSampleError(
        NO_SAMPLES.diagnostic(f"no sample fits {shapes}", help="give samples of these dims")
    )


def _of_files(
    texts: Sequence[str], ports: Sequence[Port], given: Feeds, description: OmModel | None
) -> Samples:
    """Return the samples in files; arguments as of `given_source`, `ports` without what is given."""
    _refuse_twice(
        {name for name in given if any(each.startswith(f"{name}=") for each in texts)}, given
    )
    named = named_paths(texts, ports, _OPTION)
    if description is not None:
        from atc_py.running.picture_samples import PictureFolders, has_pictures

        if has_pictures(named):
            return PictureFolders(named, description, ports, given, Sink())
    _refuse_twice(_names_in(named), given)
    return samples_of_paths(named, ports, Sink())


def _names_in(named: Sequence[tuple[str | None, Path]]) -> set[str]:
    """Return the names of the arrays in files that hold many samples."""
    files = (path for _, path in named if path.is_file() and path.suffix in ARRAY_FILES)
    return {each.name for path in files for each in array_headers(path)}


def _refuse_twice(names: Collection[str], given: Feeds) -> None:
    """Refuse inputs that are in the samples and given.

    Raises:
        AtcError: BAD_OPTION.
    """
    for name in sorted(given.keys() & names):
        raise BAD_OPTION.error(
            f"input {name!r} is in the samples, and --input gives it, too",
            help="leave one of them out",
        )
