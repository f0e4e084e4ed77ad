"""Fixing a file: the rules, the new file, its check, and the proof that it computes the same."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from atc_py.check.bound_node import Conditions
from atc_py.check.findings import Standing
from atc_py.compare.fix_record import difference_of, errors_left, left_findings, rewrites_of
from atc_py.compare.proof import Region, prove
from atc_py.compare.reference import open_reference
from atc_py.diag.codes import FIX_DIFFERS
from atc_py.fix.engine import Fixer
from atc_py.fix.restate import best_opset, changed_operators, restate_graph
from atc_py.frontend.reading.read import read_model
from atc_py.frontend.rewriting.onnx_writer import write_onnx
from atc_py.options.output_paths import rewritten_output
from atc_py.results.fixing import Fixing
from atc_py.running.model import Port
from atc_py.spec import specifications
from atc_py.system.temp_folders import work_folder
from atc_py.target import find_soc

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from atc_py.compare.proof import FixProof
    from atc_py.fix.engine import Applied, Fixed
    from atc_py.options.fix_options import FixOptions
    from atc_py.results.fixing import Difference, Rewrite
    from atc_py.spec import Library

__all__ = ["fix_file"]

PREFERRED = 12
"""Opset at which every operator of the list `base` is listed."""


class _Proved(TypedDict):
    """The parts of the record that the proof fills."""

    seeds: tuple[int, ...]
    outputs: Mapping[str, Difference]


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
    fixed.require_settled()
    before = fixed.graph.opsets.get("", 0)
    after = _restate(fixed, library)
    gone = changed_operators({node.op_type for node in file.nodes}, before, after)
    left = tuple(left_findings(fixed))
    idle = options.dry_run or (bool(left) and not fixed.applied)
    with work_folder() as folder:
        trial = folder / "fixed.onnx"
        written = write_onnx(file, fixed.graph, trial, gone=gone, bound=options.rules.bind)
        proof = _prove(fixed, model, trial, options) if options.seeds and fixed.applied else None
    rewrites = tuple(rewrites_of(fixed, proof, options.rules, written.nodes))
    _refuse_differences(rewrites, model)
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
        rewrites=rewrites,
        left=left,
        diagnostics=tuple(each.diagnostic() for each in errors_left(fixed)),
        verdicts=(fixed.before.check.standing.value, fixed.after.check.standing.value),
        bound=options.rules.bind,
        ranges=options.rules.ranges,
        **_proved(proof),
    )


def _proved(proof: FixProof | None) -> _Proved:
    """Return the parts of the record that the proof fills."""
    if proof is None:
        return {"seeds": (), "outputs": {}}
    outputs = {name: difference_of(each) for name, each in proof.outputs.items()}
    return {"seeds": proof.seeds, "outputs": outputs}


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
    models = open_reference(model), open_reference(written)
    ranges, twins = options.rules.ranges, fixed.tidied.twins
    return prove(*models, ports, found, range(options.seeds), bound, ranges, twins)


def _refuse_differences(rewrites: Iterable[Rewrite], model: Path) -> None:
    """Refuse regions that differ from the original by more than their rules allow."""
    for rewrite in rewrites:
        found, limit = rewrite.difference, rewrite.limit
        if found is not None and limit is not None and found.error > limit:
            raise FIX_DIFFERS.error(
                f"{model}: node {rewrite.node} ({rewrite.operator}) differs by "
                f"{found.error:.3g} of its range after {', '.join(rewrite.rules)}, "
                f"which allows {limit:.3g}",
                help=f"leave the rule out with --skip {rewrite.rules[0]}",
            )


def _place(applied: Applied) -> tuple[int, str]:
    """Return the position and the name of the node of the file that a rule replaced a part of."""
    return applied.node.index, applied.node.name


def _errors(counts: Mapping[Standing, int]) -> int:
    """Return the number of errors among the findings."""
    return counts.get(Standing.ERROR, 0)
