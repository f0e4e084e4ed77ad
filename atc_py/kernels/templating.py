"""The Jinja environment of kernel templates, and rendering with diagnostics."""

import marshal
import pickle
import traceback
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import (
    Environment,
    FileSystemBytecodeCache,
    FileSystemLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
)
from jinja2.bccache import Bucket, bc_magic
from jinja2.exceptions import TemplateError

from atc_py import __version__
from atc_py.diag import BAD_TEMPLATE, AtcError, Place
from atc_py.kernels.cpp import camel, comment
from atc_py.kernels.links import instruction_of
from atc_py.system.cache_folders import cache_folder, templates_dir
from atc_py.text import Text

# Jinja checks each entry against the template's text and Python's version. What is kept is code, so
# it is only read from a folder of the user's own that nobody else may write to.


class _Cache(FileSystemBytecodeCache):
    """A cache that ignores failing writes, and reads a file at once: Jinja's takes four times as long."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill in a template that was compiled from the same text."""
        head = bc_magic + pickle.dumps(bucket.checksum, 2)
        with suppress(OSError, EOFError, ValueError, TypeError):
            data = Path(self._get_cache_filename(bucket)).read_bytes()
            if data.startswith(head):
                bucket.code = marshal.loads(data[len(head) :])  # noqa: S302  (see above)

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)


def bytecode_cache(purpose: str) -> FileSystemBytecodeCache | None:
    """The cache for one kind of environment; None without a trusted, writable folder.

    Args:
        purpose: names the options of the environment, which the compiled code depends on.
    """
    folder = cache_folder(f"{purpose}-{__version__}-jinja-{_jinja_version()}")
    return None if folder is None else _Cache(str(folder))


def _jinja_version() -> str:
    """Jinja's version as it states it, which later versions of it no longer do.

    The list of installed packages has it, too, and takes longer than rendering a small model.
    """
    stated = vars(jinja2).get("__version__")
    if stated is not None:
        return str(stated)
    from importlib.metadata import version

    return version("jinja2")


SUFFIX = ".j2"

_FAILURES = (
    TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)


def render(folders: tuple[Path, ...], name: str, context: Mapping[str, Any]) -> str:
    """Render template `name` with `context`; the first of `folders` that has it counts.

    Templates of a user's render in the sandbox of a process of their own, and are compiled again
    when their file changes; atc-py's own are part of the program.

    Raises:
        AtcError: BAD_TEMPLATE where a template is missing or fails, with its name and line.
    """
    if not _is_trusted(folders):
        from atc_py.kernels.rendering import render_apart  # the sandbox is for users' templates

        return render_apart(folders, name, context)
    try:
        return _environment(folders).get_template(name).render(context)
    except _FAILURES as error:
        raise bad_template(folders, name, error) from error


def sandboxed_text(folders: tuple[Path, ...], name: str, context: dict[str, Any]) -> str:
    """The text of a user's template; for the process that renders these."""
    from atc_py.kernels.sandbox import bounded_text

    return bounded_text(_environment(folders).get_template(name), context)


def _is_trusted(folders: tuple[Path, ...]) -> bool:
    return folders == (templates_dir() / "kernels",)


@lru_cache(maxsize=8)
def _environment(folders: tuple[Path, ...]) -> Environment:
    """The environment of the templates in `folders`; it keeps what it has compiled.

    Compiled templates of atc-py itself are kept between runs, too.
    """
    trusted = _is_trusted(folders)
    kind, loader = (Environment, FileSystemLoader) if trusted else _sandbox()
    environment = kind(
        loader=loader(folders),
        auto_reload=not trusted,
        bytecode_cache=bytecode_cache("own-kernels") if trusted else None,
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["camel"] = camel
    environment.filters["comment"] = comment
    environment.filters["instruction"] = instruction_of
    return environment


def _sandbox() -> tuple[type[Environment], type[FileSystemLoader]]:
    from atc_py.kernels.sandbox import BoundedLoader, TemplateSandbox

    return TemplateSandbox, BoundedLoader


def bad_template(folders: tuple[Path, ...], name: str, error: BaseException) -> AtcError:
    if isinstance(error, TemplateNotFound):
        missing = error.name or name
        text = Text("there is no template {missing} in {folders}")
        return BAD_TEMPLATE.error(
            text.with_values(missing=repr(missing), folders=folders[0]),
            place=Place(file=str(folders[0] / missing)),
            help=Text(
                "every family needs one, named <template>.cpp.j2, there or in atc-py's own folder"
            ),
        )
    file, line = _failing_line(folders[0] / name, error)
    reason = str(error) or type(error).__name__
    return BAD_TEMPLATE.error(
        Text("template {name} does not render: {reason}", name=repr(name), reason=reason),
        place=Place(file=file, line=line),
        help=Text("correct the template at that line, or reinstall atc-py to restore its own"),
    )


def _failing_line(path: Path, error: BaseException) -> tuple[str, int | None]:
    """File and line of the innermost template that `error` went through."""
    if isinstance(error, TemplateSyntaxError):
        return error.filename or str(path), error.lineno
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.endswith(SUFFIX)
    ]
    return (frames[-1].filename, frames[-1].lineno) if frames else (str(path), None)
