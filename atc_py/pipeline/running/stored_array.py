"""Arrays in files, which processes can share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import CANNOT_WRITE, Place
from atc_py.text import Text, os_reason


@dataclass(frozen=True)
class StoredArray:
    """An array in a file of its own."""

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def read(self) -> NDArray[Any]:
        return np.fromfile(self.path, self.dtype).reshape(self.shape)

    def mapped(self) -> NDArray[Any]:
        """The array as a mapping of the file, which must have elements."""
        flat = np.memmap(self.path, self.dtype, "r", shape=self.shape or (1,))
        return flat.reshape(self.shape)


def stored_array(array: NDArray[Any], path: Path) -> StoredArray:
    """Write an array to a file.

    Raises:
        AtcError: CANNOT_WRITE.
    """
    try:
        array.tofile(path)
    except OSError as error:
        raise CANNOT_WRITE.error(
            Text("no space for an array: {strerror}", strerror=os_reason(error)),
            place=Place(str(path)),
        ) from error
    return StoredArray(path, array.dtype, array.shape)
