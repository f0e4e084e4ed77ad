"""Cutting of work into tiles: formulas from element counts and SoC figures alone.

Every function takes plain numbers and returns one frozen row; each field's documentation is also
its comment in the kernel's `_tiling.h`. Sizes are elements unless a name says bytes. Two facts
rule them: the unified buffer moves blocks of 32 bytes, and a queue is two buffers deep so that
copies run beside arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from atc_py.target import Soc
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_facts: object) -> Any:
        """A decorator without effect: what it tells is for type checkers."""
        return lambda kind: kind


BLOCK = 32
"""Bytes of the unit in which the unified buffer and L1 are addressed and copied."""

DEPTH = 2
"""Buffers of a queue."""


_T = TypeVar("_T", bound="Tiling")


class Declared(msgspec.Struct, frozen=True):
    """A field of a class of tilings."""

    doc: str  # its comment in the kernel
    ctype: str  # its type in C++; of an array that of the elements
    # what arrays are filled up with on the left; None where the field is not such an array
    pad: int | None = None
    by_operand: bool = False  # True for an array with an element for each operand


def wide(doc: str) -> Any:
    """Declare a field bounded by a tensor's size: 64 bits in the kernel."""
    return Declared(doc, "uint64_t")


def narrow(doc: str) -> Any:
    """Declare a field bounded by a buffer or a core count: 32 bits in the kernel."""
    return Declared(doc, "uint32_t")


def numbers(doc: str, pad: int, *, signed: bool = False) -> Any:
    """Declare a field that is an array of 64 bits: `name[kArray]`, or `name[N][kArray]`.

    Rows of one kernel may have arrays of several lengths: they are filled up with `pad` on the
    left of the last axis, and the kernel's `kArray` is the common length of all its arrays.
    """
    return Declared(doc, _ctype(signed=signed), pad=pad)


def by_operand(doc: str, *, signed: bool = False) -> Any:
    """Declare a field that is an array of 64 bits with one element for each operand."""
    return Declared(doc, _ctype(signed=signed), by_operand=True)


def _ctype(*, signed: bool) -> str:
    return "int64_t" if signed else "uint64_t"


@dataclass_transform(
    kw_only_default=True,
    frozen_default=True,
    field_specifiers=(wide, narrow, numbers, by_operand),
)
class Tiling:
    """Numbers of a kernel for one set of shapes, given by keyword.

    Type checkers take its classes for frozen dataclasses. They are not, since making a dataclass
    takes longer than computing all tilings of a small model.
    """

    # the fields by name, those of the last base first, as dataclasses have them
    declared: ClassVar[Mapping[str, Declared]] = {}

    def __init_subclass__(cls) -> None:
        own = {
            name: each
            for kind in reversed(cls.__mro__)
            for name, each in vars(kind).items()
            if isinstance(each, Declared)
        }
        cls.declared = own

    def __init__(self, **given: Any) -> None:
        if given.keys() != self.declared.keys():
            wrong = ", ".join(sorted(given.keys() ^ self.declared.keys()))
            raise TypeError(f"{type(self).__name__} takes its fields and no others: {wrong}")
        # In the order of the fields, which is that of the kernel's list.
        self.__dict__.update({name: given[name] for name in self.declared})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).items()))

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({listed})"


def extended(kind: type[_T], *bases: Tiling, **more: Any) -> _T:
    """A tiling of class `kind` with the numbers of `bases`, whose classes it extends.

    Args:
        kind: a class of tilings.
        *bases: tilings of classes that `kind` has the fields of.
        **more: the other fields of `kind`, and those of `bases` that are to change.
    """
    numbers_of_bases = {name: each for base in bases for name, each in vars(base).items()}
    return kind(**numbers_of_bases | more)


class VectorTiling(Tiling):
    """Elementwise work: a flat range of elements, cut over cores, then into tiles."""

    total_length: int = wide("elements of the result")
    core_num: int = narrow("cores that have work")
    core_length: int = wide("elements of every core but the last, whole blocks")
    tile_length: int = narrow("elements of a tile, whole blocks")
    tile_count: int = wide("tiles of every core but the last")
    tail_length: int = narrow("elements of the last tile of such a core")
    last_tile_count: int = wide("tiles of the last core")
    last_tail_length: int = narrow("elements of the last core's last tile")


class DealtTiling(Tiling):
    """Elementwise work: a flat range of elements, cut into tiles that are dealt out to cores."""

    total: int = wide("elements of the result")
    tile_length: int = narrow("elements of a tile, whole blocks")
    tile_count: int = wide("tiles")
    core_num: int = narrow("cores that have work; core c takes tiles c, c + core_num ...")


class ShardTiling(Tiling):
    """Work of an AI CPU kernel: a flat range of elements, cut into one shard per core."""

    total_length: int = wide("elements of all results")
    shard_count: int = narrow("shards that have work")
    shard_length: int = wide("elements of every shard but the last")


class ElementFootprint(msgspec.Struct, frozen=True):
    """Unified buffer bytes of one element."""

    align: int  # elements in the smallest run that is whole blocks in every operand
    nbytes: int  # bytes for one element of every buffer together

    @classmethod
    def of(cls, queued: Iterable[DType], scratch: int = 0) -> ElementFootprint:
        """The footprint of queues of these dtypes plus `scratch` bytes an element.

        nbytes = DEPTH x sum(itemsize) + scratch; align = 32 / min(itemsize), which is whole
        blocks for wider operands too, since item sizes are powers of two.
        """
        sizes = [dtype.itemsize for dtype in queued]
        return cls(BLOCK // min(sizes), DEPTH * sum(sizes) + scratch)

    def capacity(self, soc: Soc) -> int:
        """Elements that fit in the unified buffer at once, whole blocks and at least one."""
        return max(self.align, soc.ub_kib * 1024 // self.nbytes // self.align * self.align)


def vector_tiling(total: int, footprint: ElementFootprint, soc: Soc) -> VectorTiling:
    """Cut `total` elements over cores by whole blocks, then into tiles that fill the buffer.

    cores = min(vector cores, blocks); core_length = ceil(blocks / cores) blocks, after which
    cores without work are dropped; tile_length = min(core_length, capacity).
    """
    blocks = -(-total // footprint.align)
    cores, core_blocks, _ = _split(blocks, vector_cores(soc))
    core_length = core_blocks * footprint.align
    tile = max(footprint.align, min(core_length, footprint.capacity(soc)))
    count, tail = _tiles_and_tail(core_length if cores > 1 else total, tile)
    last_count, last_tail = _tiles_and_tail(total - (cores - 1) * core_length, tile)
    return VectorTiling(
        total_length=total,
        core_num=cores,
        core_length=core_length,
        tile_length=tile,
        tile_count=count,
        tail_length=tail,
        last_tile_count=last_count,
        last_tail_length=last_tail,
    )


def dealt_tiling(total: int, footprint: ElementFootprint, soc: Soc) -> DealtTiling:
    """Cut `total` elements into tiles as long as those of `vector_tiling`."""
    flat = vector_tiling(total, footprint, soc)
    tiles = -(-total // flat.tile_length)
    return DealtTiling(
        total=total,
        tile_length=flat.tile_length,
        tile_count=tiles,
        core_num=max(1, min(flat.core_num, tiles)),
    )


def shard_tiling(total: int, soc: Soc) -> ShardTiling:
    """Cut `total` elements into one shard per AI CPU core, or one where the count is unknown."""
    count, length, _ = _split(total, max(1, soc.aicpus))
    return ShardTiling(total_length=total, shard_count=count, shard_length=length)


def vector_cores(soc: Soc) -> int:
    """The cores for vector work; SoCs with split cores have more of them than cube cores.

    Elsewhere an AI Core holds both and the few extra vector cores only assist.
    """
    return max(soc.aicores, soc.vector_cores)


def _split(units: int, cores: int) -> tuple[int, int, int]:
    """(working cores, units each, units of the last); one idle core for 0 units."""
    each = -(-units // max(1, min(cores, units)))
    used = -(-units // each) if each else 1
    return used, each, units - (used - 1) * each


def _tiles_and_tail(length: int, tile: int) -> tuple[int, int]:
    """(tiles, elements of the last) of `length` elements; (0, 0) where there are none."""
    count = -(-length // tile)
    return count, length - (count - 1) * tile if count else 0


def rounded_up(count: int, unit: int) -> int:
    return -(-count // unit) * unit
