"""C++ vocabulary: names, literals and comments that compile whatever they are made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.kernels.cpp import (
    C_TYPES,
    HOST_TYPES,
    SHORT_NAMES,
    attribute_constant,
    camel,
    comment,
    identifier,
)
from atc_py.target import operators
from atc_py.tensor.dtypes import DType
from tests.failures import in_one_item
from tests.sampling import examples


@in_one_item(
    ("value", "expected"),
    [
        (1, "constexpr int64_t kSome = 1;"),
        (-(2**63), "constexpr int64_t kSome = (-9223372036854775807 - 1);"),
        (True, "constexpr bool kSome = true;"),
        (1e-05, "constexpr float kSome = 1e-05f;"),
        (2.0, "constexpr float kSome = 2.0f;"),
        (1e300, "constexpr float kSome = __builtin_inff();"),
        (float("-inf"), "constexpr float kSome = -__builtin_inff();"),
        (float("nan"), 'constexpr float kSome = __builtin_nanf("");'),
        (DType.FLOAT16, "constexpr int32_t kSome = 1;"),
        ("NCHW", 'constexpr char const* kSome = "NCHW";'),
        ('a"\\\n\u00e9?', 'constexpr char const* kSome = "a\\042\\134\\012\\303\\251\\077";'),
        ((1, -2), "constexpr int64_t kSome[] = {1, -2};\nconstexpr uint32_t kSomeCount = 2;"),
        ((0.5,), "constexpr float kSome[] = {0.5f};\nconstexpr uint32_t kSomeCount = 1;"),
        ((), "constexpr int64_t kSome[] = {0};\nconstexpr uint32_t kSomeCount = 0;"),
    ],
)
def test_attributes_become_constants(value: object, expected: str) -> None:
    assert attribute_constant("some", value) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("tile_length", "tileLength"), ("l1_k", "l1K"), ("_clip_value", "ClipValue"), ("N", "N")],
)
def test_camel_joins_words(name: str, expected: str) -> None:
    assert camel(name) == expected


@pytest.mark.parametrize(("name", "expected"), [("else", "else_"), ("then", "then"), ("x", "x")])
def test_words_that_cpp_has_taken_are_not_identifiers(name: str, expected: str) -> None:
    assert identifier(name) == expected


@given(st.text(max_size=300))
@examples(200)
def test_comment_is_one_harmless_line(text: str) -> None:
    line = comment(text)
    assert len(line.splitlines()) <= 1
    assert "*" not in line
    assert not line.endswith(("\\", "??/"))
    assert len(line) <= 163


def test_every_dtype_has_its_names() -> None:
    for table in (SHORT_NAMES, C_TYPES, HOST_TYPES):
        assert set(table) == set(DType)
    assert len(set(SHORT_NAMES.values())) == len(DType)


def test_no_attribute_takes_a_name_that_every_kernel_has() -> None:
    taken = {"kBuffers", "kOperands", "kRank", "kArray", "kRows", "kRowCount"}
    names = {f"k{camel('_' + each.name)}" for row in operators() for each in row.attributes}
    assert not names & taken
    assert not {f"{name}Count" for name in names} & taken
