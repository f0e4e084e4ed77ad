"""The environment in which a user's templates render: their access and their limits.

Jinja's sandbox keeps templates from Python's inner names. Two doors are left that this one shuts:
values lead to objects of other libraries (a dtype to numpy, whose scalars write files), and a link
in the folder leads to any file of the machine. Time and memory are bounded by the process that
renders, see `atc_py.kernels.rendering`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

from jinja2 import FileSystemLoader, TemplateError
from jinja2.environment import TemplateModule
from jinja2.runtime import BlockReference, LoopContext, Macro, Undefined
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import Cycler, Joiner, Namespace

if TYPE_CHECKING:
    from jinja2 import Environment, Template


MOST_TEXT = 8 << 20
"""Characters of one rendered file; atc-py's own have some 10,000."""

MOST_SOURCE = 1 << 20
"""Bytes of a template; atc-py's own have some 10,000."""

_PLAIN = (str, int, float, bool, tuple, list, dict, range, type(None))
_JINJA = (BlockReference, Cycler, Joiner, LoopContext, Macro, Namespace, TemplateModule, Undefined)
_PACKAGE = "atc_py."


class TemplateSandbox(SandboxedEnvironment):
    """Sandbox in which templates reach plain values, Jinja's own objects and atc-py's facts alone."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if not super().is_safe_attribute(obj, attr, value) or not _is_known(obj):
            return False
        return callable(value) or _is_known(value)

    def is_safe_callable(self, obj: Any) -> bool:
        """True if a template may call `obj`: no class of the program is instantiated."""
        return super().is_safe_callable(obj) and not (isinstance(obj, type) and _is_own(obj))


def _is_known(value: object) -> bool:
    kind = type(value)
    return kind in _PLAIN or isinstance(value, _JINJA) or _is_own(kind) or isinstance(value, Enum)


def _is_own(kind: type) -> bool:
    return kind.__module__.startswith(_PACKAGE)


class BoundedLoader(FileSystemLoader):
    """Templates of some folders: files in them of a bounded size; links that stay inside count."""

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str, Callable[[], bool]]:
        """The text of a template.

        Raises:
            TemplateNotFound: no folder has it.
            TemplateError: it is elsewhere, is not a file, is too large, or is not UTF-8.
        """
        for folder in self.searchpath:
            path = os.path.realpath(os.path.join(folder, template))  # noqa: PTH118
            if os.path.exists(path):  # noqa: PTH110  (names of templates need not be paths)
                _check_file(path, os.path.realpath(folder), template)
                break
        try:
            return super().get_source(environment, template)
        except UnicodeDecodeError as error:
            raise TemplateError(f"{template!r} is not UTF-8: {error}") from error


def _check_file(path: str, folder: str, template: str) -> None:
    if os.path.commonpath([path, folder]) != folder:
        raise TemplateError(f"{template!r} leads out of the folder of templates, to {path}")
    facts = os.stat(path)  # noqa: PTH116
    if not stat.S_ISREG(facts.st_mode):
        raise TemplateError(f"{template!r} is not a file")
    if facts.st_size > MOST_SOURCE:
        size = facts.st_size
        raise TemplateError(f"{template!r} has {size} bytes; a template has at most {MOST_SOURCE}")


def bounded_text(template: Template, context: dict[str, Any]) -> str:
    """The text that a template renders, within its bound."""
    pieces: list[str] = []
    left = MOST_TEXT
    for piece in template.generate(context):
        left -= len(piece)
        if left < 0:
            raise TemplateError(f"it makes more than {MOST_TEXT} characters")
        pieces.append(piece)
    return "".join(pieces)
