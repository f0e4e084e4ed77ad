"""Many cases in one item: all of them are tried, and all that fail are reported."""

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from textwrap import shorten
from types import TracebackType
from typing import Any

import pytest
from typing_extensions import Self

Test = Callable[..., None]

_LONG = 100
"""Letters of a case by which it is named."""


class Failures:
    """The failing cases of a loop.

    The first failure does not end the loop: leaving the `with` block fails the test with the
    reasons of all of them. A loop without a case fails as well.
    """

    def __init__(self) -> None:
        self._found: list[str] = []
        self._count = 0

    @contextmanager
    def of(self, *case: object) -> Iterator[None]:
        """Go on after a failure inside this block, and report it as that of `case`."""
        self._count += 1
        try:
            yield
        except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001  (any test's)
            self._found.append(
                f"{', '.join(shorten(str(part), _LONG) for part in case)}:\n{_text_of(failure)}"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            return
        if self._found:
            heading = f"{len(self._found)} of {self._count} cases fail"
            pytest.fail("\n\n".join((heading, *self._found)), pytrace=False)
        if not self._count:
            pytest.fail("there is no case", pytrace=False)


def _text_of(failure: BaseException) -> str:
    """Return what a failed assertion says and where it stands, and the traceback of other errors."""
    if isinstance(failure, AssertionError | pytest.fail.Exception) and str(failure):
        frame = traceback.extract_tb(failure.__traceback__)[-1]
        return f"{failure}\n({frame.filename}:{frame.lineno}: {frame.line})"
    return "".join(traceback.format_exception(failure))


def in_one_item(
    names: str | tuple[str, ...],
    cases: Iterable[Any],
    ids: Callable[[Any], str] | None = None,
) -> Callable[[Test], Test]:
    """Take the place of `pytest.mark.parametrize` where an item for each case is not worth its time.

    Fixtures are made once for all cases.

    Args:
        names: the parameter, or a tuple of several.
        cases: a value for each case, or a tuple of as many as there are names; of a
            `pytest.param` with an id, the id is reported.
        ids: gives the id of a case with one parameter.
    """
    several = (names,) if isinstance(names, str) else names
    if ids is not None:
        cases = [pytest.param(case, id=ids(case)) for case in cases]
    values = [_named(case, single=isinstance(names, str)) for case in cases]

    def decorated(test: Test) -> Test:
        signature = inspect.signature(test)
        others = [each for name, each in signature.parameters.items() if name not in several]

        @functools.wraps(test)
        def every_case(**fixtures: Any) -> None:
            with Failures() as failures:
                for name, case in values:
                    with failures.of(*name):
                        test(**dict(zip(several, case, strict=True)), **fixtures)

        # pytest reads the names of the fixtures from it.
        every_case.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return every_case

    return decorated


def _named(case: Any, *, single: bool) -> tuple[tuple[object, ...], tuple[Any, ...]]:
    """The words that a case is reported by, and its values."""
    if isinstance(case, type(pytest.param())):
        assert not case.marks, "one item cannot be left out in part"
        return (case.id,) if case.id else tuple(case.values), tuple(case.values)
    values = (case,) if single else tuple(case)
    return values, values
