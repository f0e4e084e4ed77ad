"""Fixing a file: the rules, the new file, its check, and the proof that it computes the same."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from atc_py.check.bound_node import Conditions
from atc_py.check.findings import Standing
from atc_py.compare.original import open_original
from atc_py.compare.proof import Region, prove
from atc_py.diag.codes import FIX_DIFFERS, FIX_NOT_SETTLED
from atc_py.fix.engine import Fixer
from atc_py.fix.registry import load_rules
from atc_py.fix.restate import best_opset, changed_operators, restate_graph
from atc_py.fix.rule import Exactness
from atc_py.frontend.reading.read import read_model
from atc_py.frontend.rewriting.onnx_writer import write_onnx
from atc_py.options.output_paths import rewritten_output
from atc_py.results.fixing import Difference, Fixing, Left, Rewrite
from atc_py.running.model import Port
from atc_py.spec import specifications
from atc_py.system.temp_folders import work_folder
from atc_py.target import find_soc

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from atc_py.check.findings import Finding
    from atc_py.compare.proof import FixProof, ResultGap
    from atc_py.fix.engine import Applied, Fixed
    from atc_py.options.fix_options import FixOptions
    from atc_py.spec import Library

__all__ = ["fix_file"]

PREFERRED = 12
"""Opset at which every operator of the list `base` is listed."""


def fix_file(model: Path, output: str | os.PathLike[str] | None, options: FixOptions) -> Fixing:
    """Write `model` in a form without the findings that rules remove.

    Args:
        model: the ONNX file.
        output: the file to write; by default `NAME.fixed.onnx` beside the model.
        options: the list, the rules and the proof.

    Raises:
        AtcError: FIX_DIFFERS where a region differs beyond its class, FIX_NOT_SETTLED where rules
            undo each other; BAD_OPTION for an unknown rule; what reading and writing raise.
    """
    path = rewritten_output(model, output, "fixed", ("fixed",))
    check = options.check
    library = specifications(check.op_specs, check.precision.operator_list)
    conditions = Conditions(check.precision_mode, find_soc(check.soc))
    file = read_model(model)
    fixed = Fixer(file, conditions, library, options.rules).fix(check.input_shapes)
    if not fixed.settled or fixed.model is None:
        rules = ", ".join(dict.fromkeys(each.rule.name for each in fixed.applied[-8:]))
        raise FIX_NOT_SETTLED.error(
            f"rules undo each other: {rules}", help="leave one of them out with --skip"
        )
    before = fixed.model.opsets.get("", 0)
    after = _restate(fixed, library)
    gone = changed_operators({node.op_type for node in file.nodes}, before, after)
    left = tuple(_left(fixed))
    idle = options.dry_run or (bool(left) and not fixed.applied)
    with work_folder() as folder:
        trial = folder / "fixed.onnx"
        write_onnx(file, fixed.graph, trial, gone=gone, bound=options.rules.bind)
        proof = _prove(fixed, model, trial, options) if options.seeds and fixed.applied else None
    _refuse_differences(fixed, proof, model)
    if not idle:
        write_onnx(
            file, fixed.graph, path, external=options.external, gone=gone, bound=options.rules.bind
        )
    return Fixing(
        model=model,
        output=None if idle else path,
        operator_list=check.precision.operator_list,
        opset=(before, after),
        errors=(_errors(fixed.before.check.counts), _errors(fixed.after.check.counts)),
        rewrites=tuple(_rewrites(fixed, proof)),
        left=left,
        seeds=proof.seeds if proof else (),
        outputs={n: _difference(each) for n, each in proof.outputs.items()} if proof else {},
        diagnostics=tuple(each.diagnostic() for each in _errors_left(fixed)),
    )


def _restate(fixed: Fixed, library: Library) -> int:
    """State the graph at the opset that suits the list; return it."""
    model = fixed.model
    if model is None:
        return 0
    opset = best_opset(model, library, PREFERRED)
    failed = restate_graph(fixed.graph, model, library, opset)
    return model.opsets.get("", 0) if failed else opset


def _prove(fixed: Fixed, model: Path, written: Path, options: FixOptions) -> FixProof | None:
    """Run both models; None where dims are open."""
    source = fixed.model
    if source is None or any(each.is_open or each.dtype is None for each in source.inputs):
        return None
    ports = [Port(each.name, each.required_dtype, each.required_dims) for each in source.inputs]
    there = {name for node in fixed.graph.nodes for name in node.writes}
    regions: dict[tuple[int, str], set[str]] = defaultdict(set)
    for applied in fixed.applied:
        made = {name for each in applied.made for name in each.outputs}
        regions[_place(applied)].update(made & there)
    found = [Region(key, frozenset(names)) for key, names in regions.items()]
    bound = {
        each.name: np.broadcast_to(
            np.asarray(options.rules.bind[each.name], each.required_dtype.numpy), each.shape
        )
        for each in source.inputs
        if each.name in options.rules.bind
    }
    models = open_original(model, written.parent), open_original(written, written.parent)
    return prove(*models, ports, found, range(options.seeds), bound, options.rules.ranges)


def _refuse_differences(fixed: Fixed, proof: FixProof | None, model: Path) -> None:
    """Refuse regions that differ from the original by more than their rules allow."""
    if proof is None:
        return
    for rewrite in _rewrites(fixed, proof):
        limit = sum(load_rules()[name].limit for name in rewrite.rules)
        if rewrite.difference is not None and rewrite.difference.error > limit:
            raise FIX_DIFFERS.error(
                f"{model}: node {rewrite.node} ({rewrite.operator}) differs by "
                f"{rewrite.difference.error:.3g} of its range after {', '.join(rewrite.rules)}, "
                f"which allows {limit:.3g}",
                help=f"leave the rule out with --skip {rewrite.rules[0]}",
            )


def _rewrites(fixed: Fixed, proof: FixProof | None) -> Iterable[Rewrite]:
    """Yield the nodes that were replaced; those in branches by their names."""
    rules: dict[tuple[int, str], list[Applied]] = defaultdict(list)
    for applied in fixed.applied:
        rules[_place(applied)].append(applied)
    operators = {name: node.op_type for node in fixed.graph.nodes for name in node.writes}
    for place in sorted(rules):
        first = rules[place][0].node
        made = dict.fromkeys(n for each in rules[place] for new in each.made for n in new.outputs)
        widest = max((each.rule.exactness for each in rules[place]), key=list(Exactness).index)
        found = None if proof is None else proof.regions.get(place)
        yield Rewrite(
            node=place[0],
            name=first.name,
            operator=first.op_type,
            rules=tuple(dict.fromkeys(each.rule.name for each in rules[place])),
            exactness=widest.value,
            after=tuple(op for name, op in operators.items() if name in made),
            difference=None if found is None else _difference(found),
        )


def _place(applied: Applied) -> tuple[int, str]:
    """Return the position and the name of the node of the file that a rule replaced a part of."""
    return applied.node.index, applied.node.name


def _left(fixed: Fixed) -> Iterable[Left]:
    """Yield the errors that are left."""
    for finding in _errors_left(fixed):
        node = finding.place.node
        unfit = dict.fromkeys(
            (each.rule.name, each.reason) for each in fixed.unfit if each.node.index == node
        )
        yield Left(node, finding.place.op_type or "", finding.message, tuple(unfit))


def _errors_left(fixed: Fixed) -> list[Finding]:
    """Return the findings of level error that are left."""
    return [each for each in fixed.after.check.findings if each.standing is Standing.ERROR]


def _difference(found: ResultGap) -> Difference:
    """Return the figures of the record."""
    return Difference(found.error, found.differing, found.elements)


def _errors(counts: Mapping[Standing, int]) -> int:
    """Return the number of errors among the findings."""
    return counts.get(Standing.ERROR, 0)
