"""A single operator as the file of `--singleop` has it, and the name of its offline model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from atc_py.options.ranges import DimRange
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims

UNDEFINED = 28
"""Number of the type of an optional input that is not there."""

_LONGEST_NAME = 128
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_FOLDERS = {".", ".."}
_SUFFIX = ".om"
_OPEN = "-1"


@dataclass(frozen=True, slots=True)
class SingleOpTensor:
    """An input or output.

    Attributes:
        dtype: None for an optional input that is not there.
        format: number of its format.
        shape: its dims as they are stored; None where each run decides.
        name: empty where the file has none.
        value: elements of a constant; None for data that runs are fed.
        ranges: of every dim, where some are open.
    """

    dtype: DType | None
    format: int
    shape: Dims
    name: str = ""
    value: Sequence[float] | None = None
    ranges: tuple[DimRange, ...] = ()

    @property
    def words(self) -> list[str]:
        """The parts of the tensor in the name of a file."""
        number = UNDEFINED if self.dtype is None else self.dtype.ge
        dims = (_OPEN if dim is None else str(dim) for dim in self.shape)
        return [str(number), str(self.format), *dims]


@dataclass(frozen=True, slots=True)
class SingleOpAttribute:
    """An attribute: its name, the kind that the file states, and its value in JSON."""

    name: str
    kind: str
    value: object


@dataclass(frozen=True, slots=True)
class SingleOp:
    """An operator of the list.

    Attributes:
        index: its position in the list; entries that only set a flag do not count.
        op: the target operator.
        name: empty where the file has none.
        inputs: by position.
        outputs: by position.
        attributes: in the file's order.
    """

    index: int
    op: str
    name: str
    inputs: tuple[SingleOpTensor, ...]
    outputs: tuple[SingleOpTensor, ...]
    attributes: tuple[SingleOpAttribute, ...]

    @property
    def file_name(self) -> str:
        """The name of its offline model, by ATC's rule [proven]."""
        given = self.name[:_LONGEST_NAME]
        if _NAME.fullmatch(given) and given not in _FOLDERS:
            return given + _SUFFIX
        parts = [str(self.index), self.op]
        for tensor in (*self.inputs, *self.outputs):
            parts += tensor.words
        return "_".join(parts)[:_LONGEST_NAME] + _SUFFIX
