"""The bytes of a file with data for a run."""

from pathlib import Path

from atc_py.diag import Place
from atc_py.system.input_files import check_regular, read_bytes, read_refusal
from atc_py.system.memory_limit import require_memory
from atc_py.text import Text


def file_size(file: str) -> int:
    """The size of a file.

    Raises:
        AtcError: FILE_NOT_FOUND, or FILE_UNREADABLE for what is not a plain file.
    """
    path = Path(file)
    try:
        found = path.stat()
        check_regular(found.st_mode)
    except OSError as error:
        raise read_refusal(path, error) from error
    return found.st_size


def file_bytes(file: str) -> bytes:
    """The bytes of a file.

    Raises:
        AtcError: as `file_size`; MEMORY_LIMIT, FILE_TOO_LARGE for one that grows.
    """
    size = file_size(file)
    require_memory(size, Text("its data"), Place(file))
    return read_bytes(Path(file), size)
