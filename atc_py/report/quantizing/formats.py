"""The report of quantizing a float model in the format that a file's ending says."""

from pathlib import Path

from atc_py.diag.codes import BAD_OPTION
from atc_py.report.model.float_quantization import float_quantization_tables
from atc_py.report.quantizing.html_page import quantization_html
from atc_py.report.tables import plain_lines
from atc_py.results.float_quantization import FloatQuantization
from atc_py.system.json_text import finite, format_json
from atc_py.text import Text

ENDINGS = (".txt", ".json", ".html")
"""Endings of report files."""


def check_ending(path: Path) -> None:
    """Refuse a file whose ending says no format.

    Raises:
        AtcError: BAD_OPTION.
    """
    if path.suffix.lower() not in ENDINGS:
        raise BAD_OPTION.error(
            Text("--report {path} does not say its format", path=path),
            help=Text("let it end in {endings}", endings=", ".join(ENDINGS)),
        )


def render_quantization(done: FloatQuantization, path: Path) -> str:
    """Return the report in the format of the file `path`.

    Raises:
        AtcError: BAD_TEMPLATE where the page does not render.
    """
    ending = path.suffix.lower()
    if ending == ".json":
        return format_json(finite(done.as_json()))
    if ending == ".html":
        return quantization_html(done)
    lines = [[*plain_lines(table), ""] for table in float_quantization_tables(done)]
    return "\n".join(line for table in lines for line in table)
