"""The process that renders a user's templates.

A template that takes more than its share of time is ended by the system, with
the process; one that takes more memory gets an error.
"""

import json
import math
import pickle
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from atc_py.diag import AtcError
from atc_py.kernels.templating import bad_template, sandboxed_text
from atc_py.system.worker import Part, error_fields, leave_no_core, serve

_MEBI = 1 << 20


def main() -> None:
    leave_no_core()
    serve(_answers)


def _answers(message: list[bytearray]) -> Iterator[tuple[Part, ...]]:
    # The program that started this process wrote it, so its pickles are trusted.
    folders, name, context, seconds, mebibytes = pickle.loads(message[0])  # noqa: S301
    _limit_resources(seconds, mebibytes)
    yield (json.dumps(_render(tuple(map(Path, folders)), name, context)).encode(),)


def _render(folders: tuple[Path, ...], name: str, context: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"text": sandboxed_text(folders, name, context)}
    except AtcError as error:
        refusal = error
    except MemoryError:
        refusal = bad_template(folders, name, MemoryError("it takes more memory than it may"))
    except Exception as error:  # noqa: BLE001  (a template may raise anything; it is the user's)
        refusal = bad_template(folders, name, error)
    return {"diagnostics": error_fields(refusal)}


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
        _lower_limit(resource, resource.RLIMIT_CPU, used + seconds)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        _lower_limit(
            resource, resource.RLIMIT_AS, pages * resource.getpagesize() + mebibytes * _MEBI
        )


def _lower_limit(resource: Any, kind: int, soft: int) -> None:
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (soft if hard < 0 else min(soft, hard), hard))
