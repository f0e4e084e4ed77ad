"""The process that renders a user's templates.

It takes requests on standard input and answers on standard output, both with their length in eight
bytes before them. A template that takes more than its share of time is ended by the system, with
the process; one that takes more memory gets an error.
"""

import json
import math
import pickle
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from atc_py.diag import AtcError
from atc_py.kernels.framing import read_block, write_block
from atc_py.kernels.templating import bad_template, sandboxed_text
from atc_py.text.packed import packed

_MEBI = 1 << 20


def main() -> None:
    """Answer requests until there are no more."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while (request := read_block(requests)) is not None:
        # The program that started this process wrote it, so its pickles are trusted.
        folders, name, context, seconds, mebibytes = pickle.loads(request)  # noqa: S301
        _limit_resources(seconds, mebibytes)
        answer = _render(tuple(map(Path, folders)), name, context)
        write_block(answers, json.dumps(packed(answer)).encode())


def _render(folders: tuple[Path, ...], name: str, context: dict[str, Any]) -> dict[str, Any]:
    """The text of a template, or its error."""
    try:
        return {"text": sandboxed_text(folders, name, context)}
    except AtcError as error:
        found = error
    except MemoryError:
        found = bad_template(folders, name, MemoryError("it takes more memory than it may"))
    except Exception as error:  # noqa: BLE001  (a template may raise anything; it is the user's)
        found = bad_template(folders, name, error)
    diagnostic = found.diagnostics[0]
    place = diagnostic.place
    return {
        "message": diagnostic.message,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "help": diagnostic.help,
    }


def _limit_resources(seconds: int, mebibytes: int) -> None:
    """Limit the processor time and the additional memory of this process.

    Systems without such limits leave it to the program that started this process.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    used = math.ceil(time.process_time())
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _lower_limit(resource, resource.RLIMIT_CPU, used + seconds)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        _lower_limit(
            resource, resource.RLIMIT_AS, pages * resource.getpagesize() + mebibytes * _MEBI
        )


def _lower_limit(resource: Any, kind: int, soft: int) -> None:
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (soft if hard < 0 else min(soft, hard), hard))
