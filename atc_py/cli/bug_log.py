"""The log file of an internal error."""

import os
import platform
import sys
import tempfile
import traceback

from atc_py import __version__
from atc_py.text import Text, os_reason


def write_bug_log(error: Exception) -> str:
    """Write the traceback to a temporary file; return its path, or a note on failure."""
    text = "".join(traceback.format_exception(error))
    head = f"atc-py {__version__}, Python {sys.version}, {platform.platform()}\n{sys.argv}\n\n"
    try:
        handle, path = tempfile.mkstemp(prefix="atc-py-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(head + text)
    except OSError as failure:
        return Text(
            "the traceback (no log could be written: {strerror})", strerror=os_reason(failure)
        )
    return path
