"""The answer to a look-up of an operator that is in ONNX and not on the list."""

from atc_py.check.unlisted import hint_for_unlisted
from atc_py.diag import AtcError
from atc_py.diag.codes import UNKNOWN_NAME
from atc_py.fix.registry import rules_of_operator
from atc_py.onnx_graph.reading.history import OnnxHistory
from atc_py.spec import Library
from atc_py.spec import library as list_called
from atc_py.spec.lists import operator_lists
from atc_py.spec.rule import folded
from atc_py.text import SEMICOLON, Text


def not_listed(name: str, known: Library, list_name: str, history: OnnxHistory) -> AtcError | None:
    """The refusal of an operator that ONNX has and the list does not; None for others.

    Args:
        name: the operator, in any case.
        known: the operators listed.
        list_name: name of the list.
        history: ONNX's definitions.
    """
    if known.lookup(name) is not None:
        return None
    operator = next((each for each in history.names if folded(each) == folded(name)), None)
    if operator is None:
        return None
    since = history.versions(operator)[0].since_version
    parts = [hint_for_unlisted(operator, "", history, known)]
    rules = rules_of_operator(operator)
    if rules:
        names = ", ".join(rule.name for rule in rules)
        parts.insert(
            0,
            Text("`atc-py fix MODEL` rewrites it (rules: {names})", names=names),
        )
    others = [
        each.name
        for each in operator_lists()
        if each.name != list_name and list_called(each.name).lookup(operator) is not None
    ]
    if others:
        named = ", ".join(others)
        parts.append(Text("it is on {named} (--list)", named=named))
    return UNKNOWN_NAME.error(
        Text(
            "{operator} is in ONNX, since opset {since}, and not on the operator list {list_name}",
            operator=operator,
            since=since,
            list_name=list_name,
        ),
        help=SEMICOLON.join(parts),
    )
