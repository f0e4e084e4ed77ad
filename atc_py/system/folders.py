"""Folders for what is written."""

import errno
from pathlib import Path

from atc_py.diag import CANNOT_WRITE, Place
from atc_py.text import Text, os_reason

_HELP = {errno.ENOSPC: Text("free space on that disk, or choose another place")}
_HELP_ELSE = Text("choose a folder that can be written to and that no file stands in the way of")


def make_folder(folder: Path) -> None:
    """Make `folder` and those above it where they are not there.

    Raises:
        AtcError: CANNOT_WRITE.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CANNOT_WRITE.error(
            Text(
                "cannot make the folder {folder}: {strerror}",
                folder=folder,
                strerror=os_reason(error),
            ),
            place=Place(file=str(folder)),
            help=_HELP.get(error.errno or 0, _HELP_ELSE),
        ) from error
