"""The exception of a model that breaks rules of the operator list."""

from collections.abc import Iterable

from atc_py.check.findings import ModelCheck, Standing
from atc_py.diag import AtcError, Diagnostic


class RulesBrokenError(AtcError):
    """A model cannot be compiled: it contradicts itself, breaks rules, or needs missing lowerings.

    Attributes:
        check: all findings, also those that do not prevent compilation.
        missing: operators that are on the list and do not compile yet.
    """

    def __init__(self, check: ModelCheck, missing: Iterable[Diagnostic] = ()) -> None:
        self.check = check
        self.missing = tuple(missing)
        errors = [each for each in check.findings if each.standing is Standing.ERROR]
        super().__init__(*check.faults, *(each.diagnostic() for each in errors), *self.missing)
