"""The operator lists as text and JSON."""

from atc_py.report.tables import Table, plain_lines
from atc_py.spec import OpSpec, compressed, library
from atc_py.spec.lists import OperatorList, operator_lists
from atc_py.text import Text
from atc_py.text.language import spoken

_COLUMNS = (
    Text("list", context="heading"),
    Text("release", context="heading"),
    Text("operators>"),
    Text("custom>"),
    Text("opsets", context="heading"),
    Text("source", context="heading"),
)


def lists_lines(language: str = "en") -> list[str]:
    """A line a list."""
    rows = tuple(
        (
            each.name,
            spoken(each.release),
            str(len(specs)),
            str(sum(spec.custom for spec in specs)),
            compressed(_opsets(specs)),
            each.source.en if language == "en" else each.source.zh,
        )
        for each, specs in _all()
    )
    columns = tuple(each.in_language(language) for each in _COLUMNS)
    return plain_lines(Table("", columns, rows))


def lists_json() -> list[dict[str, object]]:
    """The same as JSON values, the source in both languages."""
    return [
        {
            "name": each.name,
            "release": each.release,
            "operators": len(specs),
            "custom": sum(spec.custom for spec in specs),
            "opsets": list(_opsets(specs)),
            "source": {"en": each.source.en, "zh": each.source.zh},
        }
        for each, specs in _all()
    ]


def _all() -> list[tuple[OperatorList, tuple[OpSpec, ...]]]:
    return [(each, library(each.name).all()) for each in operator_lists()]


def _opsets(specs: tuple[OpSpec, ...]) -> tuple[int, ...]:
    """Every opset at which an operator is listed, in ascending order."""
    return tuple(sorted({opset for spec in specs for opset in spec.opsets}))
