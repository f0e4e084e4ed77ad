"""The samples of a comparison: random data, files or arrays; one at a time is in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from atc_py.compare.input_roles import Role, fitting_feeds
from atc_py.diag import BAD_OPTION, BAD_SAMPLE, NO_SAMPLES, AtcError, Place, Sink
from atc_py.package.schema import OmModel
from atc_py.pipeline.running.model import Port
from atc_py.pipeline.running.sample_files import FileSamples
from atc_py.pipeline.running.sample_rows import RowSamples
from atc_py.pipeline.running.samples import ArraySamples, Samples, checked, has_rows, named_paths
from atc_py.results.picture_inputs import picture_inputs
from atc_py.system.structs import replace
from atc_py.text import Text

Feeds = Mapping[str, NDArray[Any]]

PathText = str | os.PathLike[str]
if TYPE_CHECKING:
    from atc_py.pipeline.running.picture_folders import PictureFolders

    GivenFiles = PathText | Sequence[PathText] | Sequence[Mapping[str, Any]]


_OPTION = "--data"


class DrawnSamples:
    """Random data that fit the roles of inputs, beside arrays that are given."""

    def __init__(
        self,
        ports: Sequence[Port],
        roles: Mapping[str, Role],
        given: Feeds,
        draws: tuple[int, int],
    ) -> None:
        """Prepare the samples; `draws` are their number and the first one's seed."""
        if draws[0] < 1:
            raise BAD_OPTION.error(Text("samples must be 1 or more, found {draws}", draws=draws[0]))
        self._ports, self._roles, self._given = ports, roles, given
        self.count, self._seed = draws
        if self.count > 1 and len(given) == len(ports):
            raise BAD_OPTION.error(
                Text(
                    "all data are given, so {count} random samples would be identical",
                    count=self.count,
                ),
                help=Text("leave --random out, or leave an input to random data"),
            )

    def __iter__(self) -> Iterator[tuple[str, Feeds]]:
        for seed in range(self._seed, self._seed + self.count):
            feeds = fitting_feeds(self._ports, self._roles, seed)
            yield Text("random data of seed {seed}", seed=seed), {**feeds, **self._given}


@dataclass(frozen=True, slots=True)
class SampleInputs:
    """Inputs of a compiled model, and the data that are the same in all samples."""

    description: OmModel
    ports: tuple[Port, ...]  # its inputs; those of `given` are hidden
    given: Feeds  # arrays by input, the same in all samples
    # parameter buffers of dynamic AIPP that are used where neither `given` nor a sample has one
    settings: Feeds

    @classmethod
    def of(cls, description: OmModel, ports: Sequence[Port], given: Feeds) -> SampleInputs:
        """The inputs.

        Raises:
            AtcError: BAD_OPTION where the samples would have nothing to hold.
        """
        if ports and all(port.name in given for port in ports):
            raise BAD_OPTION.error(
                Text("--input already gives all inputs; none is left for --data"),
                help=Text("leave --input out for the inputs that the samples hold"),
            )
        settings = _whole_pictures(description)
        shown = tuple(
            replace(port, hidden=port.name in given or port.name in settings) for port in ports
        )
        return cls(description, shown, given, settings)

    @property
    def left(self) -> tuple[Port, ...]:
        return tuple(port for port in self.ports if port.name not in self.given)

    @property
    def fed_settings(self) -> Feeds:
        """Parameter buffers of dynamic AIPP for samples that have none."""
        return {**self.settings, **self.given}


class GivenSamples:
    """Samples of files or arrays, beside data that are the same in all of them."""

    def __init__(self, samples: Samples, inputs: SampleInputs) -> None:
        self._samples, self._inputs = samples, inputs
        self.count = samples.count

    def __iter__(self) -> Iterator[tuple[str, Feeds]]:
        for label, feeds in checked(self._whole(), self._inputs.left):
            yield label, {**self._inputs.given, **feeds}

    def _whole(self) -> Iterator[tuple[str, Feeds]]:
        inputs = self._inputs
        for label, feeds in self._samples:
            twice = next((name for name in feeds if name in inputs.given), None)
            if twice is not None:
                raise BAD_SAMPLE.error(
                    Text(
                        "{label} has data for {twice}, which --input gives for all samples",
                        label=label,
                        twice=repr(twice),
                    ),
                    place=Place(label, field=Text("input {at}", at=twice)),
                    help=Text("take the input out of the samples, or leave --input out for it"),
                )
            if not picture_inputs(inputs.description):
                yield label, feeds
                continue
            from atc_py.pipeline.running.pictures import filled

            yield label, filled(inputs.description, {**inputs.fed_settings, **feeds})


def given_source(samples: GivenFiles, inputs: SampleInputs) -> GivenSamples:
    return GivenSamples(_opened(samples, inputs), inputs)


def _opened(samples: GivenFiles, inputs: SampleInputs) -> Samples:
    arrays = sample_arrays(samples)
    if arrays is not None:
        return arrays
    named = sample_paths(samples, inputs.ports)
    if has_rows(named):
        return row_samples(named, inputs.ports)
    if picture_inputs(inputs.description):
        return picture_folders(named, inputs)
    return FileSamples(named, inputs.ports, Sink())


def sample_arrays(samples: GivenFiles) -> ArraySamples | None:
    """Samples that are arrays; None for files."""
    if isinstance(samples, str | os.PathLike):
        return None
    if not samples:
        raise NO_SAMPLES.error(Text("there are no samples"), help=Text("give one or more"))
    arrays = [each for each in samples if not isinstance(each, str | os.PathLike)]
    return ArraySamples(arrays) if len(arrays) == len(samples) else None


def sample_paths(samples: GivenFiles, ports: Sequence[Port]) -> list[tuple[str | None, Path]]:
    given = [samples] if isinstance(samples, str | os.PathLike) else samples
    texts = [os.fspath(each) for each in given if isinstance(each, str | os.PathLike)]
    return named_paths(texts, ports, _OPTION)


def row_samples(named: Sequence[tuple[str | None, Path]], ports: Sequence[Port]) -> RowSamples:
    """Samples along the first axis of arrays; pictures may have fewer bytes than the input."""
    own = [replace(port, shape=(1, None)) if port.partial else port for port in ports]
    return RowSamples(named, own)


def picture_folders(
    named: Sequence[tuple[str | None, Path]], inputs: SampleInputs, *, fitting: bool = False
) -> PictureFolders:
    from atc_py.pipeline.running.picture_folders import PictureFolders

    settings = inputs.fed_settings
    return PictureFolders(named, inputs.description, inputs.ports, settings, fitting=fitting)


def _whole_pictures(description: OmModel) -> Feeds:
    """Settings for RGB or gray pictures of the network's size, for dynamic AIPP.

    There are none where such pictures have more bytes than the input: then samples need their own.
    """
    if not any(each.is_dynamic for each in picture_inputs(description)):
        return {}
    from atc_py.pipeline.running.pictures import whole_picture_settings

    try:
        return whole_picture_settings(description)
    except AtcError:
        return {}
