"""The files of the list of CANN 9.0 against the index of its pages: none is missing, none too many."""

import re

import pytest

from atc_py.spec import library
from tests.spec.list_digest import DIGEST, SPELLINGS, entries, index_rows, names_of_8_0

pytestmark = pytest.mark.skipif(not DIGEST.is_dir(), reason="the digest of the pages is not here")

LIST = library("cann-9.0")

KEPT = {
    "AdaptiveMaxPool2D",
    "Addcmul",
    "AscendDequant",
    "AscendDequantS16",
    "AscendRequant",
    "AscendRequantS16",
    "BatchMatMul",
}
"""Operators of older pages alone."""

PRODUCTS_NAMED = {
    "AscendQuant": [],
    "Corr": [],
    "MovingSumWithSigmoid": [],
    "NonMaxSuppression": [("Ascend310", "Ascend910")] * 2,
}
"""Operators whose entries name products beside rules, and the families of rules in the files.

The rule of AscendQuant excludes a dtype that is not listed; those of Corr and MovingSumWithSigmoid
are of older pages. Atlas 200/300/500 and the training series are these two families.
"""


def test_every_operator_of_the_index_and_every_kept_one_has_a_file() -> None:
    indexed = {SPELLINGS.get(name, name) for name in names_of_8_0(DIGEST)}
    assert len(indexed) == 160
    assert {spec.op for spec in LIST.all()} == indexed | KEPT


def test_each_page_has_one_file() -> None:
    own = {spec.op: spec.page for spec in LIST.all() if spec.page is not None}
    rows = [row for row in index_rows(DIGEST) if row.page]
    assert own == {SPELLINGS.get(row.name, row.name): row.page for row in rows}
    assert len(set(own.values())) == len(own) == len(rows)


def test_kept_are_the_operators_of_older_pages_alone() -> None:
    older = {entry.name for entry in entries(DIGEST) if not entry.page}
    assert older == {row.name for row in index_rows(DIGEST) if not row.page} == KEPT
    kept = [spec for spec in LIST.all() if spec.kept]
    assert {spec.op for spec in kept} == KEPT
    assert all(spec.page is None and spec.like_path for spec in kept)


def test_special_cases_are_those_that_pages_do_not_recommend_to_others() -> None:
    found = {entry.name for entry in entries(DIGEST) if "not recommended otherwise" in entry.rules}
    assert {spec.op for spec in LIST.all() if spec.special_case} == found
    assert len(found) == 4


def test_rules_for_certain_products_are_those_of_the_pages() -> None:
    named = {
        entry.name
        for entry in entries(DIGEST)
        if entry.page and re.search("Atlas|Ascend 3", entry.rules)
    }
    assert named == set(PRODUCTS_NAMED)
    for spec in LIST.all():
        found = [rule.when.families for rule in spec.constraints if rule.when is not None]
        assert [each for each in found if each] == PRODUCTS_NAMED.get(spec.op, []), spec.op


def test_custom_operators_are_those_that_onnx_does_not_have() -> None:
    named = {row.name for row in index_rows(DIGEST) if row.custom}
    own = {spec.op for spec in LIST.all() if spec.custom}
    assert own - named == {"AffineGrid"}, "an operator of ONNX's from opset 20 on, and another one"
    assert named <= own
