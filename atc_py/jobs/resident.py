"""Memory that a process takes for itself."""

import os
from contextlib import suppress
from pathlib import Path


def private_bytes(pid: int) -> int:
    """Return bytes in memory that are the process's own, without mapped files; 0 if unknown.

    Systems without /proc do not say.
    """
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
        return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
    return 0
