"""AI Core kernels by SoC family, written as the operator information of CANN 8.1 has them.

Those of Ascend950 are of the operator definitions of CANN's open repositories (August 2026). Where
its operator has its numbers as tensors, which here are attributes, the row is that of the form here
with the dtypes of the operator there.

A text names families and the dtypes of their kernel: `310 CS: f16; 310B: -; A2 A3: f16 f32 bf16`.
A dtype stands for a column in which the form has it as T; `(f16 f16 f32 > f32)` is a column of its
own, and `f16|f32` in a form or column stands for each of them. `-` says that there is no kernel,
`?` that its dtypes are decided only when it is compiled and are therefore not published.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from typing import TypeAlias

import msgspec

from atc_py.target.soc import SocFamily
from atc_py.tensor.dtypes import DType

Pair: TypeAlias = tuple[tuple[DType, ...], tuple[DType, ...]]
"""Dtypes of inputs and of outputs."""

FAMILY_WORDS = {
    "310": SocFamily.ASCEND310,
    "310P": SocFamily.ASCEND310P,
    "310B": SocFamily.ASCEND310B,
    "610": SocFamily.ASCEND610,
    "910": SocFamily.ASCEND910,
    "A2": SocFamily.ASCEND910B,
    "A3": SocFamily.ASCEND910_93,
    "950": SocFamily.ASCEND950,
    "CS": SocFamily.HI3796CV300CS,
}
"""Families whose operator information is published, by the words for them in texts."""

_DTYPE_WORDS = {
    "f16": DType.FLOAT16,
    "f32": DType.FLOAT32,
    "f64": DType.FLOAT64,
    "bf16": DType.BFLOAT16,
    "i4": DType.INT4,
    "i8": DType.INT8,
    "i16": DType.INT16,
    "i32": DType.INT32,
    "i64": DType.INT64,
    "u8": DType.UINT8,
    "u16": DType.UINT16,
    "u32": DType.UINT32,
    "u64": DType.UINT64,
    "b": DType.BOOL,
}

_NO_KERNEL, _DECIDED_LATER = "-", "?"


class Kernels(msgspec.Struct, frozen=True):
    """The AI Core kernels of one operator: see the module for how texts are written.

    Texts are read when they are first asked for, once each.
    """

    text: str  # families, and the dtypes that their kernel takes, preferred ones first
    form: str = "T > T"  # dtypes of inputs and outputs, with T for the dtype of the text

    def describes(self, family: SocFamily) -> bool:
        """True if a source says something of the kernel of `family`, if only that it says it later."""
        return any(
            FAMILY_WORDS.get(word) is family
            for clause in self.text.split(";")
            for word in clause.partition(":")[0].split()
        )

    def published(self, family: SocFamily) -> tuple[Pair, ...] | None:
        """The dtypes of the kernel of `family`, none where it has no kernel.

        None stands for dtypes that are not published.
        """
        return _read(self.text, self.form).get(family)


@cache
def _read(text: str, form: str) -> Mapping[SocFamily, tuple[Pair, ...]]:
    found: dict[SocFamily, tuple[Pair, ...]] = {}
    seen: set[SocFamily] = set()
    for clause in text.split(";"):
        words, _, dtypes = clause.partition(":")
        for word in words.split():
            family = FAMILY_WORDS.get(word)
            if family is None or family in seen:
                raise ValueError(f"{text!r} names {word!r}, which is unknown or there twice")
            seen.add(family)
            if dtypes.strip() != _DECIDED_LATER:
                found[family] = tuple(dict.fromkeys(pairs(dtypes, form)))
    return found


def pairs(dtypes: str, form: str) -> Iterator[Pair]:
    if dtypes.strip() == _NO_KERNEL:
        return
    for piece in dtypes.replace("(", ")").split(")"):
        if ">" in piece:
            yield from _columns(piece)
            continue
        for dtype in piece.split():
            yield from _columns(" ".join(dtype if word == "T" else word for word in form.split()))


def _columns(text: str) -> Iterator[Pair]:
    inputs, _, outputs = text.partition(">")
    count = len(inputs.split())
    words = (*inputs.split(), *outputs.split())
    for dtypes in product(*(_alternatives(word) for word in words)):
        yield dtypes[:count], dtypes[count:]


def _alternatives(word: str) -> tuple[DType, ...]:
    try:
        return tuple(_DTYPE_WORDS[part] for part in word.split("|"))
    except KeyError as fault:
        raise ValueError(f"no dtype is written as {fault.args[0]!r}") from None
