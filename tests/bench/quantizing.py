"""Error and time of int8 beside onnxruntime's static quantization, on the same samples.

Both sides choose ranges on one set of samples; errors are those of another set, of the float
outputs in onnxruntime, which runs all models. Weights have scales per channel on both sides.
"""

import math
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.bench.measuring import say
from tests.quantizing.networks import CALIBRATION, MEASURED, NETWORKS, FloatNetwork
from tests.quantizing.peer import (
    METHODS,
    errors_of,
    quantized_by_onnxruntime,
    quantized_here,
    results_of,
)


class _Row(NamedTuple):
    """Figures of a network: of each side the least ratio of signal to noise in dB, and seconds.

    A method of onnxruntime that fails has no figures.
    """

    ours: float
    seconds: float
    theirs: dict[str, tuple[float, float]]

    @property
    def best(self) -> float:
        """The best of onnxruntime's ratios."""
        return max((ratio for ratio, _ in self.theirs.values()), default=-math.inf)

    @property
    def time_ratio(self) -> float:
        """Our time over that of onnxruntime's method with the best ratio."""
        seconds = (time for ratio, time in self.theirs.values() if ratio == self.best)
        return self.seconds / min(seconds, default=math.inf)


def quantizing() -> None:
    """Print a line for each network, and how many of them err at most as much as the best peer."""
    found = [each for each in NETWORKS if each.is_at_hand]
    if not found:
        say("quantizing: no network is there")
        return
    say(f"quantize: worst output's SNR in dB and seconds, {len(CALIBRATION)} samples")
    heads = "".join(f"{f'ort {each}':>18}" for each in METHODS)
    say(f"  {'network':32}{'atc-py':>18}{heads} {'best':>5} {'time':>6}")
    rows = []
    for network in found:
        row = _row(network)
        if row is None:
            continue
        rows.append(row)
        cells = "".join(_cell(row.theirs.get(each)) for each in METHODS)
        better = "yes" if row.ours >= row.best else "no"
        own = _cell((row.ours, row.seconds))
        say(f"  {network.name:32}{own}{cells} {better:>5} {row.time_ratio:6.2f}")
    count = sum(row.ours >= row.best for row in rows)
    times = math.exp(sum(math.log(row.time_ratio) for row in rows) / max(len(rows), 1))
    say(f"  at most the error of the best peer: {count} of {len(rows)}; its time x {times:.2f}")


def _cell(figures: tuple[float, float] | None) -> str:
    """Return a ratio and a time; what failed has neither."""
    return f"{'fails':>18}" if figures is None else f"{figures[0]:8.2f} {figures[1]:7.2f} s"


def _row(network: FloatNetwork) -> _Row | None:
    """Measure a network; None where it has no layer that can be quantized."""
    from atc_py.diag import AtcError

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = network.find(folder)
        given, measured = network.samples(CALIBRATION), network.samples(MEASURED)
        wanted = results_of(model, measured)
        output = folder / "int8.onnx"
        try:
            seconds = quantized_here(model, output, given)
        except AtcError as error:
            say(f"  {network.name:32} {error.diagnostics[0].message}")
            return None
        ours = errors_of(results_of(output, measured), wanted).worst
        theirs = {}
        for method in METHODS:
            try:
                time = quantized_by_onnxruntime(model, output, given, method)
                ratio = errors_of(results_of(output, measured), wanted).worst
            except Exception:  # noqa: BLE001, S112  (it raises anything; the cell says `fails`)
                continue
            theirs[method] = ratio, time
        return _Row(ours, seconds, theirs)


if __name__ == "__main__":
    quantizing()
