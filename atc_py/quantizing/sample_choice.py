"""Some of the samples, for what would take too long on all of them."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from numpy.typing import NDArray

from atc_py.pipeline.running.samples import Samples, checked, evenly
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.observe import ports_of_model

Feeds = Mapping[str, NDArray[Any]]


class ChosenSamples:
    """Some of the samples, at even distances; one at a time is in memory.

    Attributes:
        count: how many there are.
    """

    def __init__(self, model: FloatModel, samples: Samples, most: int | None) -> None:
        """Choose at most so many samples; None for all."""
        self._ports, self._samples = ports_of_model(model), samples
        self._positions = evenly(samples.count, samples.count if most is None else most)
        self.count = len(self._positions)

    def __iter__(self) -> Iterator[Feeds]:
        """Yield the arrays of each sample.

        Raises:
            AtcError: what samples raise.
        """
        for at, (_, feeds) in enumerate(checked(self._samples, self._ports)):
            if at in self._positions:
                yield feeds

    def first(self) -> Feeds:
        """The arrays of the first sample."""
        return next(iter(self))


def first_feeds(model: FloatModel, samples: Samples, most: int) -> list[Feeds]:
    """The first samples, at most so many.

    Raises:
        AtcError: what samples raise.
    """
    ports = ports_of_model(model)
    return [feeds for _, feeds in islice(checked(samples, ports), most)]
