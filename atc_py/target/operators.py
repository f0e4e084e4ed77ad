"""Target operators: names, operands and attributes are those of CANN's graph operators.

Sources of the rows: `REG_OP` signatures (operands, attributes, defaults), the AI Core operator
information of CANN 8.1 (dtypes by SoC family) and that of 2022 for Ascend310P (dtype columns of the
generic device), the AI CPU kernel list, and the ONNX operator list (limits beyond which a node runs
on the AI CPU).
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from atc_py.target import rows
from atc_py.target.bfloat16 import with_bfloat16

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atc_py.target.row import TargetOp

__all__ = ["find_operator", "is_view", "operators"]


def operators() -> tuple[TargetOp, ...]:
    """Return every row, by name."""
    return tuple(row for _, row in sorted(_by_name().items()))


@lru_cache(maxsize=1024)
def find_operator(name: str) -> TargetOp | None:
    """Return the row of the operator called `name`, or None."""
    return _by_name().get(name)


@lru_cache(maxsize=1024)
def is_view(op: str) -> bool:
    """Return True if operator `op` shows its first input's data and launches no kernel."""
    row = find_operator(op)
    return row is not None and not row.launches_kernel


@cache
def _by_name() -> Mapping[str, TargetOp]:
    """Return the rows of all modules.

    Raises:
        ValueError: two modules have a row for one operator.
    """
    found: dict[str, tuple[TargetOp, str]] = {}
    for module in pkgutil.iter_modules(rows.__path__):
        name = f"{rows.__name__}.{module.name}"
        for row in getattr(importlib.import_module(name), "ROWS", ()):
            if row.name in found:
                raise ValueError(f"{row.name} has a row in {found[row.name][1]} and in {name}")
            found[row.name] = with_bfloat16(row), name
    return {name: row for name, (row, _) in found.items()}
