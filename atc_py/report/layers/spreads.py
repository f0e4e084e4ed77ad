"""The figures of outputs and layers sample by sample, as a table."""

from atc_py.report.tables import Table, number_text
from atc_py.results.judgment import QUANTILES, SampleSpread
from atc_py.results.layer_comparison import LayerComparison
from atc_py.text import Text
from atc_py.text.language import spoken

_WORST, _ENOUGH = 5, 20
_DIGITS = {"cosine": 7, "SNR dB": 4}


def shown_shares(done: LayerComparison) -> tuple[float, ...]:
    """The shares of shown quantiles: fewer than `_ENOUGH` samples are their own quantiles."""
    return QUANTILES if done.samples >= _ENOUGH else ()


def spreads_table(done: LayerComparison, *, whole: bool = False) -> Table:
    shares = QUANTILES if whole else shown_shares(done)
    quantiles = tuple(f"{share:.0%}>" for share in shares)
    columns = ("layer", "figure", "mean>", "worst>", *quantiles, "worst sample")
    rows = [
        row
        for name, at in done.outputs.items()
        if at in done.spreads
        for row in _rows(spoken(Text("output {at}", at=name)), done.spreads[at], len(shares))
    ]
    outputs = {*done.outputs.values()}
    others = [(at, each) for at, each in done.spreads.items() if at not in outputs]
    others = [(at, each) for at, each in others if each.distance.worst > 0]
    others.sort(key=lambda each: (-each[1].distance.worst, each[0]))
    named: dict[str, SampleSpread] = {}
    for at, spread in others:
        if done.layers[at].source not in done.outputs:
            named.setdefault(done.layers[at].source, spread)
    for name, spread in list(named.items())[: None if whole else _WORST]:
        rows += _rows(name, spread, len(shares))[1:]
    exact = all(each.exact for each in done.spreads.values())
    about = "" if exact or not shares else Text("; quantiles within 1 % of the error")
    title = Text(
        "Over {samples} samples: this bad or worse in 1, 5, 25 and 50 % of them{about}"
        if shares
        else "Over {samples} samples",
        samples=done.samples,
        about=about,
    )
    return Table(title, columns, tuple(rows), said=(len(columns) - 1,))


def _rows(name: str, spread: SampleSpread, shares: int) -> list[tuple[str, ...]]:
    figures = {"cosine": spread.cosine, "SNR dB": spread.snr}
    return [
        (
            name,
            spoken(figure),
            *(
                number_text(value, _DIGITS[figure])
                for value in (found.mean, found.worst, *found.quantiles[:shares])
            ),
            found.sample,
        )
        for figure, found in figures.items()
    ]
