"""docs/measured.md: figures of boards, the estimates beside them, and a plot of both."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, groupby

from atc_py.cost.estimate import estimate
from atc_py.cost.factors import evidence_of
from atc_py.target import find_soc
from tests.cost.figures import (
    KERNELS_SOC,
    NETWORKS,
    Figure,
    figures,
    mean_and_spread,
    measured_kernels,
    shares_of_best_batch,
)

PLOT = "pictures/measured.svg"
_SIDE, _EDGE = 420, 40
_COLORS = dict(zip(NETWORKS, ("#1f6feb", "#d1242f", "#1a7f37"), strict=True))


_OPENING = """# Estimates beside boards

```console
$ atc-py profile first.onnx --input-shape "image:1,3,32,32" --soc Ascend310P3
first on Ascend310P3
  time        65.6 µs (between 36.7 µs and 110.2 µs)
...
              time: 51 networks measured on Ascend310P3: 9 of 10 within 1.5x
...
```

The line that begins with `time:` says what an estimate rests on: the networks of this page, and how far it missed their times.

"""


def measured_page() -> Iterator[str]:
    """Yield the lines of the page."""
    table = list(figures())
    yield from _OPENING.splitlines()
    yield "Every published figure that the [cost model](cost-model.md) is compared with: times of boards as their authors"
    yield "measured them, and what `atc-py profile` estimates for the same network, SoC and batch, in milliseconds a run. A"
    yield "number after a colon is the estimate over the measured time. Networks were built anew with random weights; pages"
    yield "often rewrite the ONNX file first and come from CANN 3.3 to 7.0, which is part of what is off. Networks that a page"
    yield "feeds with bytes are estimated with AIPP."
    yield ""
    yield f"![measured and expected]({PLOT})"
    yield ""
    yield "| SoC | networks | figures | mean | spread | within 1.3x | within 1.5x | inside the range | range |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for soc in NETWORKS:
        of_soc = [each for each in table if each.soc == soc and not each.of_other_kernels]
        yield _summary(soc, of_soc)
    yield ""
    yield "Spread is one standard deviation of the logarithm. Factors are [those of the family](cost-model.md#factors),"
    yield "where the spreads on networks not fitted to stand too. Where two pages state one network, SoC and batch, they"
    yield "differ by 9 % or less in nine cases of ten. Of several batches the one that"
    shares = list(shares_of_best_batch())
    yield (
        f"`atc-py profile --batch` calls best is the best one on the board in {shares.count(1)} of {len(shares)} networks, and "
        f"reaches {sum(shares) / len(shares):.0%} of that one's"
    )
    yield "throughput."
    yield ""
    yield from _words()
    yield from _of_other_kernels([each for each in table if each.of_other_kernels])
    yield from _kernels()
    for soc in NETWORKS:
        yield f"## {soc}"
        yield ""
        yield "| network | batch: measured, expected, ratio | page |"
        yield "| --- | --- | --- |"
        rows = sorted(
            (each for each in table if each.soc == soc and not each.of_other_kernels),
            key=lambda each: (each.network, each.batch),
        )
        for network, found in groupby(rows, key=lambda each: each.network):
            yield _row(network, list(found))
        yield ""


def _words() -> Iterator[str]:
    yield "What is off, and why as far as is known:"
    yield ""
    yield "- Networks of which one page states 2 to 3 times the time of similar ones (seresnext50 and seresnext101 at batch 32,"
    yield "  efficientnet_b5 at batch 1): nothing in the network explains it."
    yield "- Windows of attention (swin_base_384 1.5): pages replace parts of attention by kernels of their own."
    yield "- convnext, twins, beit (0.7): products with Gelu are half of their time; pages of BERT with the same products fit."
    yield "- Batch 64 of some networks takes half as long again for a sample than batch 32; others do not show it."
    yield ""
    yield "Networks are those that the scripts of a page export, as far as they were read: sknet50 has a full and a grouped"
    yield "convolution side by side, DCGAN no transposed convolution, the page Resnetvd exports SE-ResNet-50, and LResNet100E-IR"
    yield "has squeeze and excitation. seresnext101 averages whole images by a reduction; its page has AveragePool with windows of"
    yield "56 x 56, which the operator list sends to the AI CPU and boards do not, by their times."
    yield ""


def _of_other_kernels(table: Sequence[Figure]) -> Iterator[str]:
    yield "## Figures of other kernels"
    yield ""
    yield "Pages whose atc line asks for kernels that `profile` does not estimate; neither the factors nor the table above count"
    yield "them. SSD stands on two pages for Ascend310P3: with `--buffer_optimize=off_optimize` it takes 2.3 times as long."
    yield ""
    yield "| network | option | SoC | batch: measured, expected, ratio |"
    yield "| --- | --- | --- | --- |"
    for (network, soc), found in groupby(table, key=lambda each: (each.network, each.soc)):
        of_network = list(found)
        yield f"| {network} | {of_network[0].line} | {soc} | {_cells(of_network)} |"
    yield ""


def _kernels() -> Iterator[str]:
    soc = find_soc(KERNELS_SOC)
    kinds: dict[str, list[float]] = defaultdict(list)
    for launch, seconds in measured_kernels():
        name = launch.operations[0].row.name
        kinds[name].append(estimate(launch, soc).expected / seconds)
    yield f"## Single kernels of {KERNELS_SOC}"
    yield ""
    yield "As hicann/cann-bench measured them (`tests/cost/measured_kernels.tsv`), of its kernels those that an operator of the"
    yield "target launches and that were measured, not derived from a roofline."
    yield ""
    yield "| operator | kernels | mean | spread |"
    yield "| --- | --- | --- | --- |"
    for name, ratios in (*sorted(kinds.items()), ("all", [*chain.from_iterable(kinds.values())])):
        mean, spread = mean_and_spread(ratios)
        yield f"| {name} | {len(ratios)} | {mean:.2f} | x{spread:.2f} |"
    yield ""


def _summary(soc: str, table: Sequence[Figure]) -> str:
    mean, spread = mean_and_spread(each.ratio for each in table)
    near = [
        sum(abs(math.log(each.ratio)) < math.log(limit) for each in table) / len(table)
        for limit in (1.3, 1.5)
    ]
    found = evidence_of(find_soc(soc))
    inside = sum(found.low <= 1 / each.ratio <= found.high for each in table) / len(table)
    networks = len({each.network for each in table})
    return (
        f"| {soc} | {networks} | {len(table)} | {mean:.2f} | x{spread:.2f} | {near[0]:.0%} | "
        f"{near[1]:.0%} | {inside:.0%} | {found.low:g} to {found.high:g} |"
    )


def _row(network: str, found: Sequence[Figure]) -> str:
    return f"| {network} | {_cells(found)} | {found[0].page.rpartition('/')[0]} |"


def _cells(found: Sequence[Figure]) -> str:
    return "; ".join(
        f"{each.batch}: {_ms(each.measured)}, {_ms(each.expected)}, {each.ratio:.2f}"
        for each in found
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}"


def measured_plot() -> Iterator[str]:
    """Yield the lines of the plot: measured time to the right, expected time upward."""
    table = list(figures())
    values = [math.log10(value) for each in table for value in (each.measured, each.expected)]
    least, most = math.floor(min(values)), math.ceil(max(values))

    def place(seconds: float) -> float:
        return _EDGE + (math.log10(seconds) - least) / (most - least) * (_SIDE - 2 * _EDGE)

    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIDE} {_SIDE}" '
        'font-family="sans-serif" font-size="11">'
    )
    yield f'<rect width="{_SIDE}" height="{_SIDE}" fill="#ffffff"/>'
    for power in range(least, most + 1):
        at = place(10.0**power)
        yield f'<path d="M{at:.1f} {_EDGE}V{_SIDE - _EDGE}M{_EDGE} {_SIDE - at:.1f}H{_SIDE - _EDGE}" stroke="#d0d7de"/>'
        label = f"{10.0 ** (power + 3):g} ms"
        yield f'<text x="{at:.1f}" y="{_SIDE - _EDGE + 14}" text-anchor="middle">{label}</text>'
        yield f'<text x="{_EDGE - 3}" y="{_SIDE - at + 4:.1f}" text-anchor="end">{label}</text>'
    yield f'<path d="M{_EDGE} {_SIDE - _EDGE}L{_SIDE - _EDGE} {_EDGE}" stroke="#57606a"/>'
    for each in table:
        x, y = place(each.measured), _SIDE - place(each.expected)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{_COLORS[each.soc]}" fill-opacity="0.6"/>'
    for at, soc in enumerate(NETWORKS):
        y = _EDGE + 14 + 15 * at
        yield f'<circle cx="{_EDGE + 12}" cy="{y - 4}" r="4" fill="{_COLORS[soc]}"/>'
        yield f'<text x="{_EDGE + 22}" y="{y}">{soc}</text>'
    yield f'<text x="{_SIDE / 2}" y="{_SIDE - 8}" text-anchor="middle">measured</text>'
    yield f'<text x="14" y="{_SIDE / 2}" transform="rotate(-90 14 {_SIDE / 2})" text-anchor="middle">expected</text>'
    yield "</svg>"
