"""Opsets of every operator: the listed ones are accepted, others restated or refused."""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import onnx
import onnx.defs
import pytest
from onnx import helper

from atc_py.check.findings import ModelCheck, Standing
from atc_py.diag.codes import OPERATOR_RESTATED, UNSUPPORTED_OPSET
from atc_py.onnx_graph.reading.history import OnnxHistory, history
from atc_py.onnx_graph.source import AttributeSchema, OperatorSchema
from atc_py.spec import OpSpec
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from tests.check import one_node_checks
from tests.check.one_node_checks import check_node, opset_codes
from tests.failures import Failures
from tests.spec.every_list import each_spec, library_of, list_of, parameters
from tests.spec.one_node import CUSTOM_DOMAIN, build

SPECS = parameters(spec for spec in each_spec() if not spec.custom)
CUSTOM = parameters(spec for spec in each_spec() if spec.custom)
NEWEST = onnx.defs.onnx_opset_version()
NEEDED = {
    "Gemm": {"operand_absent"},
    "ReduceL2": {"registered"},
    "RoiAlign": {"dtype_excluded"},
    "TfIdfVectorizer": {"registered"},
}
"""Rules of operators that their examples break: the operands cannot be without what is rewritten."""
PROMISED = {Standing.PARSER, Standing.REWRITE, Standing.AICPU, Standing.ACCURACY}


def _codes(check: ModelCheck) -> list[str]:
    """Return the codes about the operator's version; nodes of subgraphs have their own."""
    return [each.code.id for each in opset_codes(check) if not each.scope]


def _check(spec: OpSpec, model: onnx.ModelProto, folder: Path) -> ModelCheck:
    """Return the check of a model by the list that the specification is of."""
    return check_node(model, folder, specs=library_of(spec))


# Listed opsets ----------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", SPECS)
def test_opset_is_accepted_where_listed_else_restated_or_refused(
    spec: OpSpec, tmp_path: Path
) -> None:
    with Failures() as failures:
        for opset in range(1, NEWEST + 1):
            with failures.of(f"opset {opset}"):
                check = _accepted if opset in spec.opsets else _restated_or_refused
                check(spec, opset, tmp_path)


def _accepted(spec: OpSpec, opset: int, folder: Path) -> None:
    check = _check(spec, build(spec, opset), folder)
    assert not _codes(check)
    if onnx.defs.has(spec.op, opset):
        assert not check.faults
        assert {each.standing for each in check.findings} <= PROMISED
        assert _rules(check) <= NEEDED.get(spec.op, set())


def _rules(check: ModelCheck) -> set[str]:
    """Return the rules of the operator that are broken; those of CANN's form are left out."""
    return {each.rule.split("/")[1] for each in check.findings} - {"cann"}


@pytest.mark.parametrize("spec", CUSTOM)
def test_custom_operator_is_accepted_at_every_version(spec: OpSpec, tmp_path: Path) -> None:
    model = build(spec, 13)
    (entry,) = (entry for entry in model.opset_import if entry.domain == CUSTOM_DOMAIN)
    with Failures() as failures:
        for entry.version in (1, 2, 13):
            with failures.of(f"version {entry.version}"):
                check = _check(spec, model, tmp_path)
                # What CANN makes of it is another question.
                assert all(each.certainty for each in check.findings)
                assert not _rules(check)


def test_examples_have_the_rewrites_that_their_operands_cannot_be_without(tmp_path: Path) -> None:
    found: dict[str, set[str]] = {}
    for spec in each_spec():
        # Those between are tried with the operator, by the test of listed opsets.
        ends = {min(spec.opsets), max(spec.opsets)} if spec.opsets else {13}
        for opset in spec.opsets if spec.op in NEEDED else ends:
            if spec.custom or onnx.defs.has(spec.op, opset):
                for rule in _rules(_check(spec, build(spec, opset), tmp_path)):
                    found.setdefault(spec.op, set()).add(rule)
    assert found == NEEDED


# Other opsets -----------------------------------------------------------------------------------


def _restated_or_refused(spec: OpSpec, opset: int, folder: Path) -> None:
    model = build(spec, opset)
    check = _check(spec, model, folder)
    wanted = _wanted(spec, opset, model)
    assert _codes(check) == ([wanted] if wanted else [])
    for each in opset_codes(check):
        refused = each.code is UNSUPPORTED_OPSET
        assert each.standing is (Standing.ERROR if refused else Standing.REWRITE)
        assert each.scope or each.source == spec.place_of(spec.opsets_line)
        assert each.observed.en.startswith(f"opset {opset}")


def _wanted(spec: OpSpec, opset: int, model: onnx.ModelProto) -> str:
    """Return the code that a node of an opset that is not listed gets; "" for none."""
    own = history().at(spec.op, opset)
    if own is None or own.deprecated or opset < spec.restated_since:
        return UNSUPPORTED_OPSET.id
    listed = [each for each in _versions(spec) if each.since_version != own.since_version]
    if len(listed) < len(_versions(spec)):
        return ""
    if any(not list(_obstacles(spec, model, own, each)) for each in listed):
        return OPERATOR_RESTATED.id
    return UNSUPPORTED_OPSET.id


def _versions(spec: OpSpec) -> list[OperatorSchema]:
    """Return ONNX's definitions at the listed opsets, each once."""
    found = (history().at(spec.op, opset) for opset in spec.opsets)
    return list({each.since_version: each for each in found if each is not None}.values())


def _obstacles(
    spec: OpSpec, model: onnx.ModelProto, own: OperatorSchema, listed: OperatorSchema
) -> Iterator[str]:
    """Return the obstacles between the example in the form of one version and that of another."""
    (node,) = model.graph.node
    given = {each.name for each in node.attribute} & set(own.attributes)
    yield from _odd_attributes(spec, given, own, listed)
    there = given | set(node.input)
    for name, attribute in listed.attributes.items():
        if attribute.required and name not in there:
            yield f"attribute {name} is required"
    for each in listed.inputs:
        row = spec.operand(each.name)
        free = each.optional or each.variadic or row is None or row.absent
        if not free and each.name not in there:
            yield f"input {each.name} is required"
    yield from _odd_inputs(spec, model, own, listed)


def _odd_attributes(
    spec: OpSpec, given: set[str], own: OperatorSchema, listed: OperatorSchema
) -> Iterator[str]:
    """Yield attributes that the other version lacks, or has with another type or default."""
    for name, attribute in own.attributes.items():
        other = listed.attributes.get(name)
        row = spec.attribute(name)
        if name in given and other is None and not (row and spec.is_unlisted(row)):
            yield f"attribute {name} is set"
        if name in given and other is not None and other.type != attribute.type:
            yield f"attribute {name} is {attribute.type}"
        if name not in given and other is not None and other.default != attribute.default:
            yield f"the default of {name} is another one"


def _odd_inputs(
    spec: OpSpec, model: onnx.ModelProto, own: OperatorSchema, listed: OperatorSchema
) -> Iterator[str]:
    """Yield inputs that the other version lacks, or of dtypes that neither it nor the list has.

    A constant may stand for an attribute of its name.
    """
    elements = {each.name: each.type.tensor_type.elem_type for each in model.graph.input}
    constants = {each.name: each.data_type for each in model.graph.initializer}
    elements |= constants
    admitted = {each.name: each.elements for each in listed.inputs}
    names = {each.name for each in own.inputs}
    variadic = bool(own.inputs) and own.inputs[-1].variadic
    for position, name in enumerate(model.graph.node[0].input):
        if position >= len(own.inputs) and not variadic:
            yield f"there is no input {position}"
        elif name in names and name not in admitted:
            if not (name in constants and name in listed.attributes):
                yield f"{name} is no input"
        elif name in admitted:
            row = spec.operand(name)
            dtypes = (row and spec.dtypes_of(row)) or tuple(DType)
            element = _element(elements[name])
            if element not in admitted[name] | {dtype.value for dtype in dtypes}:
                yield f"{name} is {element}"


def _element(number: int) -> str:
    """Return an element type as schemas spell it."""
    text = helper.tensor_dtype_to_string(number).removeprefix("TensorProto.").lower()
    return {"float": "float32", "double": "float64"}.get(text, text)


# The next opset ---------------------------------------------------------------------------------


class _Later(OnnxHistory):
    """A history in which there is one opset more, which brings a version of an operator."""

    def __init__(self, op_type: str, change: str) -> None:
        super().__init__()
        self._op_type = op_type
        self._change = change

    @property
    def newest_opset(self) -> int:
        return NEWEST + 1

    def at(self, op_type: str, opset: int) -> OperatorSchema | None:
        found = super().at(op_type, opset)
        if found is None or op_type != self._op_type or opset <= NEWEST:
            return found
        later = replace(found, since_version=opset)
        if self._change == "deprecated":
            return replace(later, deprecated=True)
        if self._change == "attribute":
            novel = AttributeSchema("novel", "int", required=False, default=0)
            return replace(later, attributes={**found.attributes, "novel": novel})
        return later


@pytest.mark.parametrize("spec", SPECS)
def test_next_version_of_an_operator_is_restated_or_refused(spec: OpSpec, tmp_path: Path) -> None:
    """Check that an opset that ONNX does not have yet is refused."""
    refused, restated = [UNSUPPORTED_OPSET.id], [OPERATOR_RESTATED.id]
    now = _codes(_check(spec, build(spec, NEWEST), tmp_path))
    model = build(spec, NEWEST + 1)
    assert _codes(_check(spec, model, tmp_path)) == refused
    again = _codes(_at(spec, model, _Later(spec.op, "nothing"), tmp_path))
    assert again == (refused if now == refused else restated)
    assert _codes(_at(spec, model, _Later(spec.op, "deprecated"), tmp_path)) == refused
    model.graph.node[0].attribute.append(helper.make_attribute("novel", 1))
    assert _codes(_at(spec, model, _Later(spec.op, "attribute"), tmp_path)) == refused


def _at(spec: OpSpec, model: onnx.ModelProto, known: OnnxHistory, folder: Path) -> ModelCheck:
    """Return the check of a model by another history of ONNX."""
    with patch.object(one_node_checks, "history", lambda: known):
        return _check(spec, model, folder)


# What other opsets brought ----------------------------------------------------------------------


def _news() -> Iterator[tuple[OpSpec, int, str, str]]:
    """Yield operator, opset, and its dtype or attribute that neither list nor versions have.

    A dtype is one of the first input.
    """
    for spec in each_spec():
        for own in history().versions(spec.op) if not spec.custom else ():
            listed = _versions(spec)
            if own.deprecated or own.since_version in {each.since_version for each in listed}:
                continue
            attributes = set(own.attributes).difference(*(each.attributes for each in listed))
            for name in attributes - {row.name for row in spec.attributes}:
                yield spec, own.since_version, "attribute", name
            row = spec.inputs[0] if spec.inputs else None
            if row is not None and [each.name for each in own.inputs][:1] == [row.name]:
                old = (each.inputs[0].elements for each in listed)
                allowed = {dtype.value for dtype in spec.dtypes_of(row) or DType}
                for element in own.inputs[0].elements.difference(*old) - allowed:
                    if "(" not in element:
                        yield spec, own.since_version, "dtype", element


NEWS: dict[str, list[tuple[OpSpec, int, str, str]]] = {}
for _each in sorted(_news(), key=lambda each: (list_of(each[0]), each[0].op, *each[1:])):
    NEWS.setdefault(f"{list_of(_each[0])}-{_each[0].op}", []).append(_each)
VALUES = {"int": 1, "float": 0.5, "string": "x", "ints": [1], "floats": [0.5]}


@pytest.mark.parametrize("name", NEWS)
def test_what_no_listed_version_has_is_refused(name: str, tmp_path: Path) -> None:
    with Failures() as failures:
        for spec, opset, what, novel in NEWS[name]:
            with failures.of(f"opset {opset}", what, novel):
                model = _with_news(spec, opset, what, novel)
                assert _codes(_check(spec, model, tmp_path)) == [UNSUPPORTED_OPSET.id]


def _with_news(spec: OpSpec, opset: int, what: str, name: str) -> onnx.ModelProto:
    """Return the example with a dtype or an attribute that no listed version has."""
    if what == "dtype":
        return build(spec, opset, dtypes={spec.inputs[0].name: name})
    model = build(spec, opset)
    schema = history().at(spec.op, opset)
    assert schema is not None
    value = VALUES[schema.attributes[name].type]
    model.graph.node[0].attribute.append(helper.make_attribute(name, value))
    return model


def test_news_are_of_many_operators() -> None:
    assert len(NEWS) > 50
