"""The samples of a comparison: random data, files or arrays; one at a time is in memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atc_py.compare.inputs import fitting_feeds
from atc_py.diag import Sink
from atc_py.diag.codes import BAD_OPTION, NO_SAMPLES
from atc_py.running.samples import ArraySamples, checked, open_samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from atc_py.compare.input_roles import Role
    from atc_py.running.model import Port
    from atc_py.running.samples import Samples

    Feeds = Mapping[str, NDArray[Any]]
    PathText = str | os.PathLike[str]

__all__ = ["DrawnSamples", "GivenSamples", "given_source"]

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
    """Samples of files or arrays."""

    def __init__(self, samples: Samples, ports: Sequence[Port]) -> None:
        self._samples, self._ports = samples, ports
        self.count = samples.count

    def __iter__(self) -> Iterator[tuple[str, Feeds]]:
        """Yield the samples."""
        yield from checked(self._samples, self._ports)


def given_source(
    samples: PathText | Sequence[PathText] | Sequence[Mapping[str, Any]], ports: Sequence[Port]
) -> GivenSamples:
    """Return the samples in files, or of arrays.

    Raises:
        AtcError: NO_SAMPLES where there are none; BAD_SAMPLE for arrays that fit no input.
    """
    if isinstance(samples, str | os.PathLike):
        return GivenSamples(open_samples([samples], ports, Sink(), _OPTION), ports)
    if not samples:
        raise NO_SAMPLES.error("there are no samples", help="give one or more")
    paths = [Path(each) for each in samples if isinstance(each, str | os.PathLike)]
    if paths:
        texts = [os.fspath(each) for each in samples if isinstance(each, str | os.PathLike)]
        return GivenSamples(open_samples(texts, ports, Sink(), _OPTION), ports)
    arrays = [each for each in samples if not isinstance(each, str | os.PathLike)]
    return GivenSamples(ArraySamples(arrays), ports)
