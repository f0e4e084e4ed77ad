"""Tables of the modules that hold an operator's lowering functions, kernel and families; `make docs` writes them."""

from collections.abc import Iterator
from pathlib import Path

from atc_py.device.sim.kernel import kernels
from atc_py.kernels.registry import listed_families
from atc_py.lowering.registry import lowered_operators
from atc_py.target.operators import row_modules

_PACKAGE = Path(__file__).resolve().parents[1] / "atc_py"


def _kernel_modules() -> Iterator[str]:
    """Yield the table of the simulator's kernels."""
    yield '"""The module of each kernel, so that one operator\'s kernel imports no other\'s."""'
    yield ""
    yield "from __future__ import annotations"
    yield ""
    yield '__all__ = ["MODULES"]'
    yield ""
    yield "MODULES = {"
    for op, row in sorted(kernels().items()):
        yield f'    "{op}": "{row.run.__module__.rpartition(".")[2]}",'
    yield "}"
    yield '"""Module of `kernels/` by operator. Derived; `make docs` writes it again."""'


def _family_modules() -> Iterator[str]:
    """Yield the table of the families of emitted kernels."""
    found: dict[str, list[str]] = {}
    for module, family in listed_families():
        for op in family.operators:
            names = found.setdefault(op, [])
            if (name := module.rpartition(".")[2]) not in names:
                names.append(name)
    yield '"""The modules of each operator\'s families, so that others are not imported."""'
    yield ""
    yield "from __future__ import annotations"
    yield ""
    yield '__all__ = ["MODULES"]'
    yield ""
    yield "MODULES = {"
    for op, names in sorted(found.items()):
        listed = ", ".join(f'"{name}"' for name in sorted(names))
        yield f'    "{op}": ({listed}{"," * (len(names) == 1)}),'
    yield "}"
    yield '"""Modules of `families/` by operator. Derived; `make docs` writes it again."""'


def _row_modules() -> Iterator[str]:
    """Yield the table of the target's operators."""
    yield '"""The module of each operator\'s row, so that others are not imported."""'
    yield ""
    yield "from __future__ import annotations"
    yield ""
    yield '__all__ = ["MODULES"]'
    yield ""
    yield "MODULES = {"
    for name, module in sorted(row_modules().items()):
        yield f'    "{name}": "{module}",'
    yield "}"
    yield '"""Module of `rows/` by operator. Derived; `make docs` writes it again."""'


def _lowering_modules() -> Iterator[str]:
    """Yield the table of the lowering functions."""
    yield '"""The operators of each module of lowering functions, so that others are not imported."""'
    yield ""
    yield "from __future__ import annotations"
    yield ""
    yield '__all__ = ["OPERATORS"]'
    yield ""
    yield "OPERATORS = {"
    for name, operators in sorted(lowered_operators().items()):
        if len(operators) < 2:
            listed = "".join(f'"{each}",' for each in operators)
            yield f'    "{name}": ({listed}),'
            continue
        yield f'    "{name}": ('
        yield from (f'        "{each}",' for each in operators)
        yield "    ),"
    yield "}"
    yield '"""Operators by module of `ops/`. Derived; `make docs` writes it again."""'


TABLES = {
    _PACKAGE / "device" / "sim" / "kernel_modules.py": _kernel_modules,
    _PACKAGE / "emit" / "family_modules.py": _family_modules,
    _PACKAGE / "lowering" / "op_modules.py": _lowering_modules,
    _PACKAGE / "target" / "row_modules.py": _row_modules,
}


def module_table(path: Path) -> str:
    """Return the text of a table."""
    return "\n".join(TABLES[path]()) + "\n"
