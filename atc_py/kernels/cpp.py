"""C++ vocabulary: types, names, literals and comments."""

from __future__ import annotations

import math
import re

import msgspec
import numpy as np

from atc_py.ir import AttrValue
from atc_py.tensor.dtypes import DType

_NAMES = {
    DType.FLOAT16: ("f16", "half"),
    DType.BFLOAT16: ("bf16", "bfloat16_t"),
    DType.FLOAT32: ("f32", "float"),
    DType.FLOAT64: ("f64", "double"),
    DType.INT4: ("i4", "int8_t"),
    DType.INT8: ("i8", "int8_t"),
    DType.INT16: ("i16", "int16_t"),
    DType.INT32: ("i32", "int32_t"),
    DType.INT64: ("i64", "int64_t"),
    DType.UINT8: ("u8", "uint8_t"),
    DType.UINT16: ("u16", "uint16_t"),
    DType.UINT32: ("u32", "uint32_t"),
    DType.UINT64: ("u64", "uint64_t"),
    DType.BOOL: ("bool", "uint8_t"),
}

SHORT_NAMES = {dtype: names[0] for dtype, names in _NAMES.items()}
"""Dtypes as kernel names write them."""

C_TYPES = {dtype: names[1] for dtype, names in _NAMES.items()}
"""Dtypes as kernels declare them; a bool or int4 is stored as a byte."""

HOST_TYPES = {
    **C_TYPES,
    DType.FLOAT16: "Eigen::half",
    DType.BFLOAT16: "Eigen::bfloat16",
    DType.BOOL: "bool",
}
"""Dtypes as AI CPU kernels declare them."""

_KEYWORDS = (
    "auto bool break case char class const continue default delete do double else enum explicit "
    "export extern false float for goto if inline int long mutable namespace new operator private "
    "protected public register return short signed sizeof static struct switch template this "
    "throw true try typedef typename union unsigned using virtual void volatile while"
)
_TAKEN = frozenset(_KEYWORDS.split())

_FLOAT32_MAX = 3.4028234663852886e38
_COMMENT_PUNCTUATION = frozenset(" !\"#$%&'()+,-./:;<=>@[]^_`{|}~")
_COMMENT_LENGTH = 160
_PLAIN_COMMENT = re.compile(r"[ -)+->@-\[\]-~]*")
"""A line that is kept unchanged: ASCII without `*`, backslash and `?`."""


def camel(name: str) -> str:
    """`tile_length` as C++ members are called: `tileLength`."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def identifier(name: str) -> str:
    """`name` as a variable: a reserved word of C++ gets an underscore."""
    return f"{name}_" if name in _TAKEN else name


def comment(text: str) -> str:
    """`text` as one line that cannot leave a comment, whatever a model calls its nodes.

    Kept are letters and digits of any script and harmless punctuation. Line breaks, controls,
    marks that turn the direction of text, `*` (which could end a comment), backslash and `?`
    (which could continue a line) become `_`; a long text is cut.
    """
    if len(text) <= _COMMENT_LENGTH and _PLAIN_COMMENT.fullmatch(text):
        return text.strip()
    kept = [char if char.isalnum() or char in _COMMENT_PUNCTUATION else "_" for char in text]
    line = "".join(kept).strip()
    return line if len(line) <= _COMMENT_LENGTH else f"{line[:_COMMENT_LENGTH]}..."


def attribute_constant(name: str, value: AttrValue) -> str:
    """An attribute's declaration: `constexpr int64_t kGroups = 1;`, arrays with a count."""
    constant = f"k{camel('_' + name)}"
    if not isinstance(value, tuple):
        ctype, literal = _literal(value)
        return f"constexpr {ctype} {constant} = {literal};"
    items = [_literal(item) for item in value] or [("int64_t", "0")]
    listed = ", ".join(literal for _, literal in items)
    return (
        f"constexpr {items[0][0]} {constant}[] = {{{listed}}};\n"
        f"constexpr uint32_t {constant}Count = {len(value)};"
    )


def _literal(value: bool | float | str | DType) -> tuple[str, str]:
    if isinstance(value, bool):
        return "bool", "true" if value else "false"
    if isinstance(value, DType):
        return "int32_t", f"{value.ge}"
    if isinstance(value, int):
        return "int64_t", _int_literal(value)
    if isinstance(value, float):
        return "float", _float_literal(value)
    return "char const*", _string_literal(value)


def _int_literal(value: int) -> str:
    """An int64 literal; the smallest one is a difference, since its digits alone overflow."""
    return str(value) if value > -(2**63) else f"(-{2**63 - 1} - 1)"


def _float_literal(value: float) -> str:
    if math.isnan(value):
        return '__builtin_nanf("")'
    if abs(value) > _FLOAT32_MAX:
        return f"{'-' if value < 0 else ''}__builtin_inff()"
    return f"{value!r}f"


def _string_literal(value: str) -> str:
    """A string literal: ASCII letters, digits and some marks stay, other bytes are octal escapes."""
    data = value.encode(errors="replace")
    safe = (chr(byte) if chr(byte).isalnum() or byte in b" _-./:,;()" else "" for byte in data)
    escaped = (
        char if char and byte < 128 else f"\\{byte:03o}"  # noqa: PLR2004  (ASCII ends there)
        for char, byte in zip(safe, data, strict=True)
    )
    return '"' + "".join(escaped) + '"'


class Word(msgspec.Struct, frozen=True):
    """A constant as `Duplicate` fills memory with it."""

    word: str  # the C++ type of 16 or 32 bits
    bits: str  # its value, as a C++ literal
    text: str  # the intended constant


def repeated_word(value: AttrValue | None, dtype: DType) -> Word:
    """`value` in `dtype` (at most 4 bytes); a constant of one byte fills the word twice."""
    with np.errstate(all="ignore"):
        constant = np.asarray(value).astype(dtype.numpy)
    data = constant.tobytes()
    size = max(2, len(data))
    bits = int.from_bytes(data * (size // len(data)), "little")
    return Word(f"uint{8 * size}_t", f"0x{bits:0{2 * size}x}u", f"{constant} as {dtype.value}")
