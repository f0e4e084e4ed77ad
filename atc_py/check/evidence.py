"""Evidence against rules of a list: whether it outweighs a rule at a node, and its words."""

from atc_py.check.bound_node import BoundNode
from atc_py.check.rules.reading import rank_of
from atc_py.spec import Level, Rule
from atc_py.spec.rule import CounterEvidence
from atc_py.text import Text, Words


def is_outweighed(rule: Rule, node: BoundNode) -> bool:
    """Tell whether a rule refuses nothing by itself, as boards take what it forbids at this node."""
    against, here = rule.contradicted, node.conditions
    if against is None or here.strict or rule.level is not Level.ERROR:
        return False
    if against.families and here.soc.family.value not in against.families:
        return False
    tensors = node.tensors(str(rule.arguments.get("tensor", "")))
    return all(
        (not against.dtypes or tensor.dtype in against.dtypes)
        and (not against.ranks or rank_of(tensor) in against.ranks)
        for tensor in tensors
    )


def evidence_words(against: CounterEvidence) -> Text:
    """`YOLOv8 exports, ... (Ascend310B, CANN 7.0: fusion_result.json of ...)`."""
    return Text(
        "{seen} ({soc}, {release}: {where})",
        seen=Words(against.seen.en, against.seen.zh),
        soc=against.soc,
        release=against.release,
        where=Words(against.where.en, against.where.zh),
    )
