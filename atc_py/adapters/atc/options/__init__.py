"""The table of atc's options."""

from atc_py.adapters.atc.options import building, debugging, model, precision, target
from atc_py.adapters.atc.options.option import AtcOption, Since, Treatment, ValueKind

__all__ = ["GROUPS", "OPTIONS", "AtcOption", "Since", "Treatment", "ValueKind"]

GROUPS: dict[str, tuple[AtcOption, ...]] = {
    "Mode, model and inputs": model.ROWS,
    "Offline model, reports, device": target.ROWS,
    "Dtypes and arithmetic": precision.ROWS,
    "Passes, memory, tuning": building.ROWS,
    "Logs, caches, debugging": debugging.ROWS,
}
"""The options by subject, in the order in which --help and the page of the table show them."""

OPTIONS: dict[str, AtcOption] = {row.name: row for rows in GROUPS.values() for row in rows}
"""Each option by its name."""
