"""Equivalent rewrites of a float model after which its layers lose less on int8."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from atc_py.frontend.quantizing.balance_sites import apply_factors, balance_sites
from atc_py.frontend.quantizing.float_model import FloatModel
from atc_py.frontend.quantizing.fold_norms import fold_norms
from atc_py.frontend.quantizing.layer_constants import LayerConstants
from atc_py.frontend.quantizing.layers import find_layers
from atc_py.quantizing.balancing import ChannelStatistics, chosen_balance
from atc_py.quantizing.observe import run_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from atc_py.frontend.folding.graph import WorkGraph
    from atc_py.frontend.quantizing.balance_sites import BalanceSite
    from atc_py.quantizing.balancing import Balance
    from atc_py.quantizing.samples import Feeds, Samples
    from atc_py.quantizing.settings import QuantizeSettings

__all__ = ["Prepared", "prepare"]

_SAMPLES = 16
"""Samples from which channels are balanced."""


class Prepared(msgspec.Struct, frozen=True, eq=False):
    """A float model after its rewrites.

    Attributes:
        model: the model.
        folded_norms: how many normalizations were folded.
        balances: the tensors whose channels were balanced.
    """

    model: FloatModel
    folded_norms: int
    balances: tuple[Balance, ...]


class FirstSamples:
    """The first of some samples.

    Attributes:
        count: how many there are.
    """

    def __init__(self, samples: Samples, most: int) -> None:
        self._samples = samples
        self.count = min(samples.count, most)

    def __iter__(self) -> Iterator[tuple[str, Feeds]]:
        """Yield the samples."""
        return islice(iter(self._samples), self.count)


def prepare(
    original: FloatModel,
    folder: Path,
    samples: Samples | None,
    settings: QuantizeSettings,
    skipped: Collection[str],
    on_stage: Callable[[str], None] | None = None,
) -> Prepared:
    """Return a model that computes the same as `original`.

    Args:
        original: the float model.
        folder: where its files go.
        samples: what it is fed; None where no samples are there, and channels are not balanced.
        settings: which rewrites are done.
        skipped: layers that stay in floats.
        on_stage: called with the progress.

    Raises:
        AtcError: what samples and the executor raise.
    """
    folded = 0

    def fold(graph: WorkGraph) -> None:
        nonlocal folded
        folded = fold_norms(graph) if settings.fold_norms else 0

    path = folder / "prepared.onnx"
    original.write(path, fold)
    model = FloatModel(path)
    sites = [
        each
        for each in balance_sites(model.graph, model.found)
        if (settings.smooth if each.maker is None else settings.equalize)
        and not all(layer.name in skipped for layer in each.readers)
    ]
    if samples is None or not sites:
        return Prepared(model, folded, ())
    statistics = _statistics(model, sites, samples, settings, on_stage)
    balances: list[Balance] = []

    def balance(graph: WorkGraph) -> None:
        constants = LayerConstants(graph)
        names = {site.tensor for site in sites}
        for site in balance_sites(graph, find_layers(graph)):
            if site.tensor not in names:
                continue
            found = chosen_balance(constants, site, statistics[site.tensor])
            if found is not None:
                apply_factors(constants, site, found.factors)
                balances.append(found)
        constants.apply()

    balanced = folder / "balanced.onnx"
    model.write(balanced, balance)
    return Prepared(FloatModel(balanced), folded, tuple(balances))


def _statistics(
    model: FloatModel,
    sites: Sequence[BalanceSite],
    samples: Samples,
    settings: QuantizeSettings,
    on_stage: Callable[[str], None] | None,
) -> dict[str, ChannelStatistics]:
    """Return what the channels of each site's tensor hold in the first samples."""
    found = {site.tensor: ChannelStatistics(site.axis) for site in sites}

    def see(_position: int, _label: str, values: Mapping[str, NDArray[Any]]) -> None:
        for name, array in values.items():
            found[name].add(array)

    first = FirstSamples(samples, _SAMPLES)
    run_samples(model, [*found], first, settings.executor, see, stage="balance", on_stage=on_stage)
    return found
