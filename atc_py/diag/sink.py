"""A sink: collects diagnostics so that one run reports everything it found."""

from collections.abc import Iterable

from atc_py.diag.diagnostic import AtcError, Diagnostic, Severity


class Sink:
    """Collects diagnostics in the order in which they were found."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def add(self, diagnostic: Diagnostic) -> None:
        """Keep one more finding."""
        self.diagnostics.append(diagnostic)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Keep several more findings."""
        self.diagnostics.extend(diagnostics)

    @property
    def errors(self) -> list[Diagnostic]:
        """The findings of severity error."""
        return [d for d in self.diagnostics if d.code.severity is Severity.ERROR]

    def raise_errors(self) -> None:
        """Raise all errors at once where there are any.

        Raises:
            AtcError: with every collected error.
        """
        if self.errors:
            raise AtcError(*self.errors)
