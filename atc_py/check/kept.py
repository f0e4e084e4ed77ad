"""Operators of a model that its list keeps, though no page of the list has them any more."""

from atc_py.check.findings import ModelCheck
from atc_py.spec import Library
from atc_py.system.structs import replace


def with_kept(check: ModelCheck, specs: Library) -> ModelCheck:
    """`check` with the names of its operators that `specs` keeps; verdicts stay.

    Raises:
        AtcError: BAD_SPEC where the file of an operator has a fault.
    """
    names = sorted(row.op.rpartition("::")[2] for row in check.operators if row.listed)
    found = ((name, specs.find(name)) for name in dict.fromkeys(names))
    return replace(check, kept=tuple(name for name, spec in found if spec and spec.kept))
