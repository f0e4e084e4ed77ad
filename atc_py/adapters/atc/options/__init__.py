"""The table of atc's options."""

from dataclasses import replace

from atc_py.adapters.atc.options import building, debugging, model, precision, target
from atc_py.adapters.atc.options.option import AtcOption, Since, Treatment, ValueKind
from atc_py.options.compile_options import CompileOptions
from atc_py.options.option import options_in

__all__ = ["FIELDS", "GROUPS", "OPTIONS", "AtcOption", "Since", "Treatment", "ValueKind"]

FIELDS = {option.atc: option for _, option in options_in(CompileOptions) if option.atc}
"""The options of `convert` that atc has, too, by atc's names."""


def _rows(*rows: AtcOption) -> tuple[AtcOption, ...]:
    """Rows with the keyword, and the values if they have none, of the field that atc's name spells."""
    return tuple(
        replace(row, keyword=field.keyword, values=row.values or tuple(field.values or ()))
        if (field := FIELDS.get(row.name))
        else row
        for row in rows
    )


GROUPS: dict[str, tuple[AtcOption, ...]] = {
    "Mode, model and inputs": _rows(*model.ROWS),
    "Offline model, reports, device": _rows(*target.ROWS),
    "Dtypes and arithmetic": _rows(*precision.ROWS),
    "Passes, memory, tuning": _rows(*building.ROWS),
    "Logs, caches, debugging": debugging.ROWS,
}
"""The options by subject, in the order in which --help and the page of the table show them."""

OPTIONS: dict[str, AtcOption] = {row.name: row for rows in GROUPS.values() for row in rows}
"""Each option by its name."""
