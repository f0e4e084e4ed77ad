"""The table of atc's options."""

from dataclasses import replace

from atc_py.adapters.atc.options import rows
from atc_py.adapters.atc.options.option import AtcOption, Since, Treatment, ValueKind
from atc_py.options.compile_options import CompileOptions
from atc_py.options.option import options_in

__all__ = ["FIELDS", "GROUPS", "OPTIONS", "AtcOption", "Since", "Treatment", "ValueKind"]

FIELDS = {option.atc: option for _, option in options_in(CompileOptions) if option.atc}
"""The options of `convert` that atc has, too, by atc's names."""


def _filled(group: tuple[AtcOption, ...]) -> tuple[AtcOption, ...]:
    """Rows with the keyword, and the values if they have none, of the field that atc's name spells."""
    return tuple(
        replace(row, keyword=field.keyword, values=row.values or tuple(field.values or ()))
        if (field := FIELDS.get(row.name))
        else row
        for row in group
    )


GROUPS: dict[str, tuple[AtcOption, ...]] = {
    "Mode, model and inputs": _filled(rows.MODEL),
    "Offline model, reports, device": _filled(rows.TARGET),
    "Dtypes and arithmetic": _filled(rows.PRECISION),
    "Passes, memory, tuning": _filled(rows.BUILDING),
    "Logs, caches, debugging": rows.DEBUGGING,
}
"""The options by subject, in the order in which --help and the page of the table show them."""

OPTIONS: dict[str, AtcOption] = {row.name: row for group in GROUPS.values() for row in group}
"""Each option by its name."""
