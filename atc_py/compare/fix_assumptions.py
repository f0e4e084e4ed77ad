"""Assumptions of rewrites: what the user said of inputs, where it reaches a node, and the rules' conditions."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from atc_py.fix.fixed import Applied, Fixed
from atc_py.options.fix_rules import FixRules
from atc_py.text import Text, verbatim


class Assumptions:
    """Values and ranges of inputs, and conditions, that the rewrites of one model rest on."""

    def __init__(self, fixed: Fixed, rules: FixRules) -> None:
        """Follow bound values through what they make constant, and ranges through integers."""
        self._floats = _float_values(fixed)
        self._said = {name: _binding(name, value) for name, value in rules.bind.items()}
        self._said |= {name: _range(name, *bounds) for name, bounds in rules.ranges.items()}
        self._constants = {*fixed.file.contents.weights, *rules.bind}
        self._by_node = self._follow(fixed, rules)

    def of(self, applied: Sequence[Applied]) -> tuple[Text, ...]:
        """Return the assumptions of the rules that were applied to one node."""
        at = applied[0].node.index
        said = [self._said[name] for name in self._by_node.get(at, ())]
        conditions = (each.rule.text.condition for each in applied)
        return tuple(dict.fromkeys((*said, *(each for each in conditions if each))))

    def _follow(self, fixed: Fixed, rules: FixRules) -> Mapping[int, list[str]]:
        """Return the inputs with values or ranges that reach each node of the file."""
        reached: dict[str, set[str]] = {name: {name} for name in self._said}
        found: dict[int, dict[str, None]] = defaultdict(dict)
        if not self._said:
            return {}
        for node in fixed.file.nodes:
            reads = [*node.reads]
            read = {each for name in reads for each in reached.get(name, ())}
            found[node.index].update(dict.fromkeys(sorted(read)))
            constant = all(name in self._constants for name in reads)
            if constant:
                self._constants.update(node.writes)
            passed = {each for each in read if constant or each in rules.ranges}
            for name in node.writes if passed else ():
                if constant or name not in self._floats:
                    reached[name] = passed
        return {at: list(names) for at, names in found.items()}


def _float_values(fixed: Fixed) -> set[str]:
    """Return the names of the values that are known to be floats."""
    nodes = [each.node for each in fixed.applied]
    nodes += fixed.model.all_nodes if fixed.model is not None else ()
    tensors = (each for node in nodes for each in (*node.inputs, *node.outputs) if each is not None)
    return {each.name for each in tensors if each.dtype is not None and each.dtype.is_float}


def _binding(name: str, value: float) -> Text:
    """Return that an input has one value."""
    return verbatim(f"{name} = {value:g}")


def _range(name: str, low: int, high: int) -> Text:
    """Return that the elements of an input are within bounds."""
    return Text("{name} in [{low}, {high}]", name=name, low=low, high=high)
