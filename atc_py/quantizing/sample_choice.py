"""A few of the samples, for what would take too long on all of them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from atc_py.quantizing.observe import ports_of_model
from atc_py.running.samples import checked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from atc_py.frontend.quantizing.float_model import FloatModel
    from atc_py.running.samples import Samples

__all__ = ["chosen_samples", "first_feeds"]


def chosen_samples(
    model: FloatModel, samples: Samples, most: int
) -> list[Mapping[str, NDArray[Any]]]:
    """Return at most so many samples, at even distances.

    Raises:
        AtcError: what samples raise.
    """
    ports = ports_of_model(model)
    step = max(-(-samples.count // most), 1)
    return [feeds for at, (_, feeds) in enumerate(checked(samples, ports)) if at % step == 0]


def first_feeds(model: FloatModel, samples: Samples, most: int) -> list[Mapping[str, NDArray[Any]]]:
    """Return the first samples, at most so many.

    Raises:
        AtcError: what samples raise.
    """
    ports = ports_of_model(model)
    return [feeds for _, feeds in islice(checked(samples, ports), most)]
