"""Equivalent rewrites of a float model after which its layers lose less on int8."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.diag import QUANT_FIELD_NOT_MODELED
from atc_py.onnx_graph.graph import OnnxGraph
from atc_py.pipeline.running.samples import Feeds, Samples
from atc_py.quantizing.balancing import (
    Balance,
    ChannelStatistics,
    balances,
    select_balance,
)
from atc_py.quantizing.judged_balances import judged_balances
from atc_py.quantizing.judging import JUDGED, StepSamples, judged_outputs
from atc_py.quantizing.layers.balance_sites import (
    BalanceSite,
    apply_factors,
    balance_sites,
    scaled_values,
)
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.layers.layer_constants import LayerConstants, fold_norms
from atc_py.quantizing.observe import first_feeds, no_progress, run_samples
from atc_py.quantizing.options import CalibrationOptions
from atc_py.results.quantization import StepGain
from atc_py.text import Text

_LEAST, _MOST, _SHARE = 4, 32, 4
"""Least and largest number of samples for what needs a run of its own, and one of how many."""


class Prepared(msgspec.Struct, frozen=True, eq=False):
    """A float model after its rewrites."""

    model: FloatModel
    folded_norms: int  # how many normalizations were folded
    balances: tuple[Balance, ...]  # the tensors whose channels were balanced
    steps: tuple[StepGain, ...] = ()  # what kinds of balancing gained where that was judged


class FirstSamples:
    """The first fourth of some samples, from 4 to 32: enough for means and peaks."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self.count = min(samples.count, max(_LEAST, min(samples.count // _SHARE, _MOST)))

    def __iter__(self) -> Iterator[tuple[str, Feeds]]:
        return islice(iter(self._samples), self.count)


def prepare(
    original: FloatModel,
    folder: Path,
    samples: Samples,
    settings: CalibrationOptions,
    skipped: Collection[str],
    tell: Callable[[str], None] = no_progress,
) -> Prepared:
    """A model that computes the same as `original`; layers in `skipped` stay in floats."""
    model, folded = _with_folded_norms(original, folder, settings)
    asked = _strengths(model, settings, skipped)
    sites = [
        site
        for site in balance_sites(model.graph, model.found)
        if any(layer.name in asked for layer in site.readers)
        or (
            (settings.smooth if site.maker is None else settings.equalize)
            and not all(layer.name in skipped for layer in site.readers)
        )
    ]
    _refuse_strengths(model, asked, sites)
    if not sites:
        return Prepared(model, folded, ())
    seen = StepSamples(judged_outputs(model))
    statistics = _statistics(model, sites, samples, settings, tell, seen)
    candidates = _candidates(model, sites, statistics, asked)
    named = [
        balance
        for balance in candidates
        if any(layer.name in asked for layer in balance.site.readers)
    ]
    free = [balance for balance in candidates if balance not in named]
    if free:
        tell("judge balances")
        seen.feeds = first_feeds(model, samples, JUDGED)
    kept, steps = judged_balances(model, free, statistics, seen, settings, skipped)
    found = [balance for balance in candidates if balance in named or balance in kept]
    return _with_balances(model, folder, folded, found, steps)


def _candidates(
    model: FloatModel,
    sites: Sequence[BalanceSite],
    statistics: Mapping[str, ChannelStatistics],
    asked: Mapping[str, float],
) -> list[Balance]:
    """The balances that gain by their estimate, and those of strengths that are asked for.

    Each is chosen after those before it were applied.
    """
    constants = LayerConstants(model.graph)
    results: list[Balance] = []
    for site in sites:
        own = statistics[site.tensor]
        strengths = [asked[reader.name] for reader in site.readers if reader.name in asked]
        if strengths:
            balance = next(iter(balances(constants, site, own, strengths[:1])), None)
        else:
            balance = select_balance(constants, site, own)
        if balance is not None:
            apply_factors(constants, site, balance.factors)
            results.append(balance)
    return results


def _strengths(
    model: FloatModel, settings: CalibrationOptions, skipped: Collection[str]
) -> dict[str, float]:
    if settings.config is None:
        return {}
    results = {}
    for layer in model.found.layers:
        choice = settings.config.choice_for(layer.name, layer.kind)
        if layer.name not in skipped and choice is not None and choice.migration_strength:
            results[layer.name] = choice.migration_strength
    return results


def _refuse_strengths(
    model: FloatModel, asked: Mapping[str, float], sites: Sequence[BalanceSite]
) -> None:
    """Refuse a migration strength of a layer of its own whose data cannot be scaled."""
    done = {layer.name for site in sites for layer in site.readers}
    missing = [layer for layer in model.found.layers if layer.name in asked.keys() - done]
    if missing:
        raise QUANT_FIELD_NOT_MODELED.error(
            Text(
                "the migration strength of layer {name} cannot be used: the producer of its "
                "data, or another reader of them, cannot be scaled",
                name=repr(missing[0].name),
            ),
            place=missing[0].node.place,
            help=Text("remove dmq_balancer of that layer from the configuration"),
        )


def prepare_with_factors(
    original: FloatModel,
    folder: Path,
    settings: CalibrationOptions,
    factors: Mapping[str, NDArray[np.float32]],
) -> Prepared:
    """A model that computes the same as `original`, its channels scaled as asked.

    `factors` are what the channels of a layer's data are divided by, by the layer's name.
    """
    model, folded = _with_folded_norms(original, folder, settings)
    asked = [
        Balance(site, factors[site.readers[0].name], 0.0, 0.0)
        for site in (balance_sites(model.graph, model.found) if factors else ())
        if site.readers[0].name in factors
    ]
    return _with_balances(model, folder, folded, asked)


def _with_folded_norms(
    original: FloatModel, folder: Path, settings: CalibrationOptions
) -> tuple[FloatModel, int]:
    folded = 0

    def fold(graph: OnnxGraph) -> None:
        nonlocal folded
        config = settings.config
        if settings.fold_norms and (config is None or config.do_fusion):
            skipped = () if config is None else config.skip_fusion_layers
            folded = fold_norms(graph, original.found.layers, skipped)

    path = folder / "prepared.onnx"
    original.write(path, fold)
    return FloatModel(path, original), folded


def _with_balances(
    model: FloatModel,
    folder: Path,
    folded: int,
    chosen: Sequence[Balance],
    steps: tuple[StepGain, ...] = (),
) -> Prepared:
    """The model with channels scaled; `chosen` are in the order of its nodes."""
    if not chosen:
        return Prepared(model, folded, (), steps)
    scaled: list[str] = []

    def apply(graph: OnnxGraph) -> None:
        constants = LayerConstants(graph)
        for balance in chosen:
            apply_factors(constants, balance.site, balance.factors)
            scaled.extend(scaled_values(graph, balance.site))
        constants.apply()

    balanced = folder / "balanced.onnx"
    model.write(balanced, apply, scaled)
    return Prepared(FloatModel(balanced, model), folded, tuple(chosen), steps)


def _statistics(
    model: FloatModel,
    sites: Sequence[BalanceSite],
    samples: Samples,
    settings: CalibrationOptions,
    tell: Callable[[str], None],
    seen: StepSamples,
) -> dict[str, ChannelStatistics]:
    """Statistics of the channels of each site's tensor in the first samples.

    `seen` takes in the outputs.
    """
    results = {site.tensor: ChannelStatistics(site.axis) for site in sites}

    def see(_position: int, _label: str, values: Mapping[str, NDArray[Any]]) -> None:
        for name, statistics in results.items():
            statistics.add(values[name])
        seen.see(values)

    first = FirstSamples(samples)
    names = [*dict.fromkeys((*results, *seen.outputs))]
    run_samples(model, names, first, settings.executor, see, stage=Text("balance"), tell=tell)
    return results
