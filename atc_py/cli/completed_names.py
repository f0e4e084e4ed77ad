"""Names that shells complete: SoCs, lists, precision modes, rules, passes, codes, operators."""

import click

_LISTED = {"--soc", "--list", "--precision-mode", "--only", "--skip", "--disable-pass"}


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
    if option == "--disable-pass":
        from atc_py.passes.pipeline import PIPELINE

        return [step.name for step in PIPELINE if step.optional]
    from atc_py.fix.rule import load_rules

    return sorted(load_rules())


def complete_codes(_: click.Context, _argument: click.Parameter, incomplete: str) -> list[str]:
    """Codes of diagnostics that begin so, and their names; codes of Huawei's atc."""
    from atc_py.adapters.atc.faults import fault_codes
    from atc_py.diag import all_codes

    names = [name for row in all_codes() for name in (row.id, row.name)] + fault_codes()
    return [name for name in names if _begins(name, incomplete)]


def complete_operators(_: click.Context, _argument: click.Parameter, incomplete: str) -> list[str]:
    from atc_py.spec import specifications

    names = {spec.op for spec in specifications(None).all()}
    return sorted(name for name in names if _begins(name, incomplete))
