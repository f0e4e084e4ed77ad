"""A layer-by-layer comparison as JSON values; numbers that are not finite are null."""

from collections.abc import Mapping
from dataclasses import asdict

import msgspec

from atc_py.report.layers.spreads import spread_json
from atc_py.report.model.semantics import semantics_json
from atc_py.results.layer import Layer, OwnError, number_json
from atc_py.results.layer_comparison import LayerComparison, Suggestion, misses_of
from atc_py.text import plain_text


def layers_json(done: LayerComparison) -> dict[str, object]:
    """Convert the whole comparison."""
    first = done.first_failing
    return {
        "model": str(done.model),
        "soc": done.soc,
        "precision_mode": done.precision_mode,
        "samples": done.samples,
        "stopped": done.stopped or None,
        "engines": list(done.engines),
        "device": done.device,
        "original_form": done.original_form or None,
        "first_bad": None if first is None else first.node,
        "verdict": _verdict(done),
        **semantics_json(done.semantics),
        "newer": done.newer,
        "outputs": {
            name: output_json(done, name) for name in (*done.outputs, *_unmatched_outputs(done))
        },
        "own_errors": [_own_error(each) for each in done.own_errors],
        "layers": [_layer(done, layer, at) for at, layer in enumerate(done.layers)],
        "device_alone": [asdict(each) for each in done.device_alone],
        "original_alone": [asdict(each) for each in done.original_alone],
        "seconds": {
            "original": done.reference_seconds,
            "device": done.device_seconds,
            "all": done.seconds,
        },
        "warnings": [each.as_json() for each in done.warnings],
        "bytes": {"held": done.peak_bytes, "all": done.total_bytes},
        "suggestion": None if done.suggestion is None else suggestion_json(done.suggestion),
    }


def output_json(done: LayerComparison, name: str) -> dict[str, object]:
    """Convert an output: its layer, the figures to judge by, the agreement on classes."""
    reason = done.uncompared.get(name)
    found: dict[str, object] = {"node": None, "compared": reason is None, "reason": reason}
    if name in done.outputs:
        layer = done.layers[done.outputs[name]]
        numbers = {
            **layer.judged._asdict(),
            "max_absolute": layer.figures.max_absolute,
            "lost": layer.figures.lost_share,
        }
        found |= {"node": layer.node, **_finite(numbers), "faults": list(layer.faults)}
    ranking = done.rankings.get(name)
    spread = done.spreads.get(done.outputs.get(name, -1))
    return found | {
        "classes": None if ranking is None else asdict(ranking),
        "over_samples": spread_json(spread),
    }


def _unmatched_outputs(done: LayerComparison) -> list[str]:
    """List the outputs without a layer."""
    return [name for name in done.uncompared if name not in done.outputs]


def _verdict(done: LayerComparison) -> dict[str, object]:
    misses = [
        {
            "output": each.output,
            "figure": each.figure or None,
            "value": None if each.value is None else number_json(each.value),
            "least": each.least,
            "text": each.sentence,
        }
        for each in misses_of(done, done.targets)
    ]
    return {"targets": dict(done.targets), "passed": done.passed, "misses": misses}


def _own_error(each: OwnError) -> dict[str, object]:
    return {
        "source": each.source,
        "source_op": each.source_op,
        "value": each.value,
        "dtype": each.dtype,
        "original": _finite(asdict(each.original)),
        "seen": _finite(asdict(each.seen)),
    }


def _layer(done: LayerComparison, layer: Layer, at: int) -> dict[str, object]:
    root = done.root_of(layer)
    return {
        "index": layer.index,
        "node": layer.node,
        "op": layer.op,
        "dtype": layer.dtype,
        "shape": list(layer.shape),
        "source": layer.source,
        "source_op": layer.source_op,
        "source_at": layer.source_at,
        "value": layer.value,
        "birth": layer.origin.value,
        "root": None if root is None else root.node,
        "rolled_back": layer.rolled_back,
        "deviating": [msgspec.to_builtins(each, enc_hook=plain_text) for each in layer.deviating],
        "faults": list(layer.faults),
        "cancels": layer.cancels,
        "within_floor": layer.within_floor,
        "original_corrected": layer.own is not None,
        "grid": None if layer.grid is None else asdict(layer.grid),
        "moved_steps": layer.moved_steps if layer.grid is not None else None,
        "steps": layer.steps,
        "over_samples": spread_json(done.spreads.get(at)),
        **_finite(asdict(layer.figures)),
    }


def _finite(numbers: Mapping[str, object]) -> dict[str, object]:
    """Replace numbers that JSON does not have by None, also in nested values."""
    found: dict[str, object] = {}
    for name, value in numbers.items():
        if isinstance(value, dict):
            found[name] = _finite(value)
        else:
            found[name] = number_json(value) if isinstance(value, float) else value
    return found


def suggestion_json(found: Suggestion) -> dict[str, object]:
    """The suggestion as JSON values."""
    return {
        "target": found.target,
        "needed": found.needed,
        "reached": found.reached,
        "out_of_reach": found.out_of_reach,
        "smallest": found.smallest,
        "minimal": found.minimal,
        "keep": [asdict(each) for each in found.kept],
        "excluded": [asdict(each) for each in found.excluded],
        "candidates": found.candidates,
        "trials": {"done": found.trials, "limit": found.limit},
        "samples": found.samples,
        "before": _outputs_json(found.before),
        "after": _outputs_json(found.after),
    }


def _outputs_json(done: LayerComparison) -> dict[str, object]:
    outputs = {name: output_json(done, name) for name in done.outputs}
    return {"stopped": done.stopped or None, "outputs": outputs}
