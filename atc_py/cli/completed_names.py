"""Names that shells complete: SoCs, operator lists, precision modes, rules, codes, operators."""

import click

_LISTED = {"--soc", "--list", "--precision-mode", "--only", "--skip"}


def values_of(option: str, incomplete: str) -> list[str]:
    """Values that an option takes; of several with commas, of the last."""
    if option not in _LISTED:
        return []
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _names(option) if _begins(name, last)]


def _begins(name: str, incomplete: str) -> bool:
    return name.lower().startswith(incomplete.lower())


def _names(option: str) -> list[str]:
    if option == "--soc":
        from atc_py.target import socs

        return [soc.name for soc in socs()]
    if option == "--list":
        from atc_py.options.compile_options import ANY_LIST
        from atc_py.spec.lists import operator_lists

        return [ANY_LIST, *(row.name for row in operator_lists())]
    if option == "--precision-mode":
        from atc_py.options.compile_options import PrecisionMode

        return [mode.value for mode in PrecisionMode]
    from atc_py.fix.rule import load_rules

    return sorted(load_rules())


def complete_codes(_: click.Context, _argument: click.Parameter, incomplete: str) -> list[str]:
    """Codes of diagnostics that begin so, and their names."""
    from atc_py.diag import all_codes

    names = [name for row in all_codes() for name in (row.id, row.name)]
    return [name for name in names if _begins(name, incomplete)]


def complete_operators(_: click.Context, _argument: click.Parameter, incomplete: str) -> list[str]:
    from atc_py.spec import specifications

    names = {spec.op for spec in specifications(None).all()}
    return sorted(name for name in names if _begins(name, incomplete))
