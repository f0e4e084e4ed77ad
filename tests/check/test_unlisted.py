"""Ways out of operators that are not listed."""

import re

import onnx.defs
import pytest

from atc_py.check.unlisted import EXPORTED, FUSED, NEWEST_LISTED, WRITTEN, hint_for_unlisted
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.source import OperatorSchema
from atc_py.spec import library
from atc_py.text import Text
from tests.failures import Failures, in_one_item

NOT_LISTED = sorted(
    {
        schema.name
        for schema in onnx.defs.get_all_schemas_with_history()
        if not schema.domain and library().find(schema.name) is None
    }
)
"""Operators of ONNX, also of those that it ended, that the list does not have."""

NAMED_ANYWAY = {"GroupNormalization": {"InstanceNormalization"}}
"""Operators that a text names though they are not listed, and says so."""


class FakeHistory:
    """A history of the operators that it is given."""

    def __init__(self, *schemas: OperatorSchema) -> None:
        self._schemas = schemas

    @property
    def newest_opset(self) -> int:
        return max((row.since_version for row in self._schemas), default=1)

    def at(self, op_type: str, opset: int) -> OperatorSchema | None:
        found = [row for row in self.versions(op_type) if row.since_version <= opset]
        return found[-1] if found else None

    def versions(self, op_type: str) -> tuple[OperatorSchema, ...]:
        return tuple(row for row in self._schemas if row.op == op_type)


def _schema(op: str, since: int, *body: str) -> OperatorSchema:
    return OperatorSchema(op, since, (), (), {}, body=body)


def _way(op_type: str, domain: str = "") -> Text:
    return hint_for_unlisted(op_type, domain, history(), library())


def _operators(text: str) -> set[str]:
    """Return operators of ONNX that a text names."""
    words = set(re.findall(r"[A-Z][A-Za-z0-9]+", text))
    return {word for word in words if history().versions(word)}


# What is derived --------------------------------------------------------------------------------


def test_newest_listed_opset_is_that_of_the_list() -> None:
    assert max(max(spec.opsets, default=0) for spec in library().all()) == NEWEST_LISTED


def test_late_operator_of_an_exporter_is_exported_at_an_older_opset() -> None:
    found = _way("LayerNormalization")
    assert "ONNX has LayerNormalization since opset 17" in found.en
    assert "export the model at opset 13" in found.en
    assert "ReduceMean" in found.en
    assert "opset 17" in found.zh


def test_late_operator_without_such_an_export_says_since_when_and_what_to_do() -> None:
    found = _way("Trilu")
    assert "since opset 14, the newest opset listed is 13; multiply by a constant mask" in found.en
    assert "Trilu" in found.zh
    assert "export" not in _way("GroupNormalization").en.partition(";")[0]


def test_function_of_listed_operators_can_be_inlined() -> None:
    fake = FakeHistory(_schema("Thing", 9, "Add", "Mul"))
    found = hint_for_unlisted("Thing", "", fake, library())
    assert "a function of listed operators (Add, Mul)" in found.en
    assert "onnx.inliner.inline_selected_functions" in found.en
    assert "Add, Mul" in found.zh


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (("Add", "Foo"), "of Add, Foo, of which Foo is not listed either"),
        (("Foo", "Bar"), "of which Foo, Bar are not listed either"),
    ],
)
def test_function_of_other_operators_names_those_that_are_missing(
    body: tuple[str, ...], text: str
) -> None:
    found = hint_for_unlisted("Thing", "", FakeHistory(_schema("Thing", 9, *body)), library())
    assert text in found.en
    assert "Foo" in found.zh


def test_operator_that_nothing_is_known_of_runs_on_the_host() -> None:
    found = hint_for_unlisted("Thing", "", FakeHistory(_schema("Thing", 27)), library())
    assert found.en == (
        "ONNX has Thing since opset 27, the newest opset listed is 13; write it with listed "
        "operators, or run this part of the model on the host"
    )


# Names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meant"), [("conv", "Conv"), ("Argmax", "ArgMax"), ("lstm", "LSTM"), ("Gru", "GRU")]
)
def test_name_in_another_case_names_the_one_that_is_meant(name: str, meant: str) -> None:
    assert _way(name).en.endswith(f"did you mean {meant}?")
    assert _way(name).zh.endswith(f"可能是指 {meant}")


def test_misspelled_name_names_near_ones() -> None:
    assert "did you mean GlobalAveragePool" in _way("GlobalAvgPool").en


def test_name_like_no_other_says_where_the_list_is() -> None:
    assert "atc-py ops list" in _way("Zzyzx").en
    assert "ONNX has no operator Zzyzx" in _way("Zzyzx").en


# Domains ----------------------------------------------------------------------------------------


@in_one_item(
    ("op_type", "domain", "text"),
    [
        ("FusedConv", "com.microsoft", "graph optimization makes FusedConv of"),
        ("Gelu", "com.microsoft", "before that optimization"),
        ("SimplifiedLayerNormalization", "", "graph optimization makes"),
        ("QLinearAdd", "com.microsoft", "AscendQuant"),
        ("MatMulNBits", "com.microsoft", "AscendQuant"),
        ("DequantizeLinear", "com.microsoft", "AscendQuant"),
        ("Conv", "com.ms.internal.nhwc", "Conv is an operator of onnxruntime"),
        ("CDist", "com.microsoft", "CDist is an operator of onnxruntime, not of ONNX"),
        ("Scaler", "ai.onnx.ml", "classical machine learning"),
        ("Adam", "ai.onnx.preview.training", "for inference"),
        ("Gradient", "ai.onnx.training", "for inference"),
        ("index", "org.pytorch.aten", "PyTorch's own"),
        ("ATen", "aten", "PyTorch's own"),
        ("aten_mul", "pkg.onnxscript.torch_lib", "onnx.inliner.inline_local_functions"),
        ("Conv", "my.company", "leave the node's domain empty"),
        ("Trilu", "my.company", "differs from ONNX's Trilu"),
        ("BatchMatmul", "my.company", "BatchMatMul is listed"),
        ("Thing", "my.company", "operators of domain my.company are not ONNX operators"),
        ("Reluu", "my.company", "operators of domain my.company are not ONNX operators"),
        ("Thing", "com.microsoftish", "operators of domain com.microsoftish are not"),
    ],
)
def test_operator_of_another_domain_gets_the_domains_way(
    op_type: str, domain: str, text: str
) -> None:
    found = _way(op_type, domain)
    assert text in found.en
    assert found.zh


def test_both_names_of_onnx_own_domain_are_the_same() -> None:
    assert _way("Tan", "ai.onnx") == _way("Tan") == WRITTEN["Tan"]


# The table --------------------------------------------------------------------------------------


def test_every_operator_of_onnx_has_a_hint_in_both_languages() -> None:
    with Failures() as failures:
        for name in NOT_LISTED:
            with failures.of(name):
                found = _way(name)
                assert found.en
                assert not found.en.endswith(".")
                assert not found.zh.endswith("。")
                assert re.search("[\u4e00-\u9fff]", found.zh)
                assert not re.search("[\u4e00-\u9fff\uff00-\uffef]", found.en)


def test_written_ways_are_of_operators_that_are_not_listed() -> None:
    assert [name for name in (*WRITTEN, *EXPORTED) if library().find(name)] == []


def test_written_ways_name_listed_operators_only() -> None:
    with Failures() as failures:
        for name, words in WRITTEN.items():
            with failures.of(name):
                named = _operators(words.en) - NAMED_ANYWAY.get(name, set())
                assert all(library().find(each) for each in named)
                assert _operators(words.zh) <= _operators(words.en)


def test_parts_of_fused_and_exported_operators_are_listed() -> None:
    for parts in (*FUSED.values(), *EXPORTED.values()):
        for name in parts.split(", "):
            assert library().find(name) is not None, name


def test_exported_operators_are_of_late_opsets() -> None:
    for name in EXPORTED:
        versions = history().versions(name)
        assert not versions or versions[0].since_version > NEWEST_LISTED
