"""Execution providers that programs ask for; a session has one, and it is called like the CPU's."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from atc_py.adapters.session.errors import session_error, session_warning
from atc_py.diag import BAD_OPTION, AtcError
from atc_py.text import Text

PROVIDERS = ("CPUExecutionProvider",)
"""Providers of every session: outputs are in the memory of the host, and programs expect this one."""


def check_providers(providers: Any, options: Any = None) -> None:
    """Check providers as onnxruntime does, and warn of those that are not there.

    Args:
        providers: names, or pairs of a name and its options; None for the default.
        options: a mapping for each provider, where `providers` has names alone.

    Raises:
        AtcError: BAD_OPTION, and a ValueError, for anything else.
    """
    for name in _names(providers, options):
        if name not in PROVIDERS:
            known = ", ".join(PROVIDERS)
            warnings.warn(
                session_warning(f"the execution provider {name!r} is not available here: {known}"),
                stacklevel=3,
            )


def _names(providers: Any, options: Any) -> Iterator[str]:
    if providers is None:
        return
    if isinstance(providers, str) or not isinstance(providers, Sequence):
        raise _bad(
            Text("providers must be a list of names, found {providers}", providers=repr(providers))
        )
    if options is not None and (
        not isinstance(options, Sequence)
        or len(options) != len(providers)
        or not all(isinstance(each, dict) for each in options)
        or not all(isinstance(each, str) for each in providers)
    ):
        raise _bad(Text("provider_options must be a list with a dict for each name in providers"))
    for each in providers:
        if isinstance(each, str):
            yield each
        elif _is_pair(each):
            yield each[0]
        else:
            raise _bad(
                Text(
                    "a provider must be a name, or a name with a dict, found {item}",
                    item=repr(each),
                )
            )


def _is_pair(each: Any) -> bool:
    return (
        isinstance(each, tuple)
        and [*map(type, each)][:1] == [str]
        and len(each) == 2  # noqa: PLR2004  (a pair)
        and isinstance(each[1], dict)
    )


def _bad(message: Text) -> AtcError:
    return session_error("ValueError", BAD_OPTION.diagnostic(message))
