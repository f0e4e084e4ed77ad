"""AIPP on a picture as tables."""

from collections.abc import Iterator

from atc_py.report.tables import Table
from atc_py.results.aipp_preview import AippPreview, AippStep
from atc_py.text import Text
from atc_py.text.language import spoken


def preview_tables(done: AippPreview) -> list[Table]:
    """The table that `aipp` prints, a line for each channel after each step."""
    rows = tuple(row for step in done.steps for row in _rows(step))
    names = ("step", "dtype", "shape", "channel>", "min>", "max>", "mean>")
    tables = [
        Table(
            Text("AIPP of {picture} by {config}", picture=done.picture, config=done.config),
            names,
            rows,
        )
    ]
    if done.output is not None:
        shape = ",".join(map(str, done.tensor.shape))
        row = (done.tensor.dtype.name, shape, str(done.output))
        tables.append(Table("Tensor", ("dtype", "shape", "file"), (row,)))
    return tables


def _rows(step: AippStep) -> Iterator[tuple[str, ...]]:
    for number, channel in enumerate(step.channels):
        name = ("", "", "")
        if not number:
            name = (spoken(step.name), step.dtype, ",".join(map(str, step.shape)))
        values = (channel.least, channel.most, channel.mean)
        yield (*name, str(number), *(f"{value:.6g}" for value in values))
