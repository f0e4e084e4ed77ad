"""A user's templates rendered in a process of their own, whose time and memory are bounded."""

import atexit
import json
import pickle
import signal
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from atc_py.diag import BAD_TEMPLATE, AtcError, Place
from atc_py.kernels.sandbox import MOST_TEXT
from atc_py.system.memory_limit import RAISE_SYSTEM_LIMITS
from atc_py.system.worker import ONE_THREAD, Bounds, NoAnswerError, Worker, as_error
from atc_py.text import Text, os_reason
from atc_py.text.packed import unpacked

SECONDS = 10
"""Time of the processor that one template may take; atc-py's own take some milliseconds."""

MEBIBYTES = 512
"""Memory that rendering may take beside what the process has at its start."""

_WALL = 6
"""Times SECONDS that a process may take on a busy machine before it is ended."""

_MOST_ANSWER = 6 * MOST_TEXT + 65536
"""Limit on the bytes of an answer: JSON has up to six for a character."""


def render_apart(folders: tuple[Path, ...], name: str, context: Mapping[str, Any]) -> str:
    """Render template `name` with `context` in a process apart; the first folder with it counts.

    Raises:
        AtcError: BAD_TEMPLATE where a template is missing or fails, or takes more than its bounds.
    """
    paths = [str(folder.absolute()) for folder in folders]
    request = pickle.dumps((paths, name, dict(context), SECONDS, MEBIBYTES))
    with _LOCK:
        try:
            _process().start()
            (data,) = _process().ask([request], Bounds(_WALL * SECONDS, answer=_MOST_ANSWER))
        except OSError as error:
            raise _not_started(folders[0] / name, name, error) from error
        except NoAnswerError as error:
            raise _worker_ended(folders[0] / name, name, error.status) from error
    answer = json.loads(data, object_hook=unpacked)
    if "text" in answer:
        return str(answer["text"])
    raise as_error(answer["diagnostics"], BAD_TEMPLATE)


@lru_cache(maxsize=1)
def _process() -> Worker:
    worker = Worker("atc_py.kernels.template_worker:main", ONE_THREAD, quiet=True)
    atexit.register(worker.close)
    return worker


_LOCK = Lock()
"""Held while the process has a template."""


def _not_started(path: Path, name: str, error: OSError) -> AtcError:
    reason = Text("its process does not start: {reason}", reason=os_reason(error))
    return BAD_TEMPLATE.error(
        Text("template {name} does not render: {reason}", name=repr(name), reason=reason),
        place=Place(file=str(path)),
        help=RAISE_SYSTEM_LIMITS,
    )


def _worker_ended(path: Path, name: str, status: int) -> AtcError:
    slow = {-getattr(signal, kind, 0) for kind in ("SIGXCPU", "SIGKILL")} | {1}
    why = (
        Text("it took more than {seconds} s", seconds=SECONDS)
        if status in slow
        else Text("it ended with status {status}", status=status)
    )
    text = Text("template {name} does not render: its process was stopped, {why}")
    return BAD_TEMPLATE.error(
        text.with_values(name=repr(name), why=why),
        place=Place(file=str(path)),
        help=Text("look for endless loops and for numbers or texts that grow without bound"),
    )
