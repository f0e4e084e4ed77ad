"""The trial of a model that breaks no rule: what of it would not compile.

The operator list speaks of the model's nodes. Whether they contradict themselves, whether the
target has their forms, and kernels in the dtypes that a precision mode and its finer controls
choose, shows where nodes are lowered and dtypes are chosen, and when the device looks at the
result. So that is done here, as `convert` does it, with one node of each kind that is alike; with
the whole model only where the kernels of a node depend on its neighbors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from atc_py.check.alike import representatives
from atc_py.check.condition_words import joined, mode_words, soc_words
from atc_py.check.evaluate import Checked
from atc_py.check.findings import Finding, Standing
from atc_py.diag import INFINITY_CLIPPED, NO_KERNEL, AtcError, Diagnostic, Place
from atc_py.ir import Graph, Phase
from atc_py.lowering.lower import lower_model, not_lowered
from atc_py.lowering.rewritten import restated
from atc_py.onnx_graph.folding.folded import FoldedModel, sample
from atc_py.onnx_graph.source import SourceModel, SourceNode, form_of
from atc_py.options.compile_options import PrecisionMode
from atc_py.package.describe import describe
from atc_py.package.schema import PackageContents
from atc_py.passes.base import PassContext
from atc_py.passes.manager import run_passes
from atc_py.passes.precision.controls import Controls
from atc_py.passes.precision.decisions import Refusal
from atc_py.passes.precision.fold_constant_casts import (
    ClippedInfinities,
    FoldConstantCastsPass,
    clipped_infinities,
    count_infinities,
)
from atc_py.pipeline.rehearsal import rehearse
from atc_py.spec import Library
from atc_py.target import Soc
from atc_py.text import Text

_OF_CUBE = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})
"""Operators of ONNX whose weights are too large to be looked at for infinities."""

_UNCLIPPED = Text("use a large finite number such as -65504 in the model, or --is-weight-clip 0")


class TrialCompilation(msgspec.Struct, frozen=True):
    """Trial compilation for one SoC and precision mode."""

    soc: Soc
    mode: PrecisionMode
    controls: Controls  # its finer controls
    specs: Library
    only_atc_passes: bool = False  # whether rewrites that no known pass of ATC does are left out

    def findings(self, survey: FoldedModel, checked: Checked) -> list[Finding]:
        """An error for each reason why a model that breaks no rule would not compile.

        They are those of the first stage of compilation that the model does not pass. Of nodes
        that are alike one is looked at, and all of them only where one of a kind is refused. A
        model with open inputs is tried as far as its nodes are known, and not for kernels.
        """
        view = survey.source
        missing = not_lowered(view.all_nodes, str(view.path), self.specs)
        refused: Sequence[Diagnostic] = [*survey.input_faults, *missing]
        kinds = representatives(view, checked.kinds)
        masked = set(_with_infinities(view, checked.kinds))
        if masked:
            masked &= {at for positions in kinds for at in positions}
        firsts = {positions[0] for positions in kinds}
        one_of_each = [] if refused else sorted(firsts | masked)
        compiled = self._compile_nodes(survey, checked, one_of_each)
        if compiled.refused and len(one_of_each) < sum(map(len, kinds)):
            every = [position for positions in kinds for position in positions]
            compiled = self._compile_nodes(survey, checked, every)
        refused = [*refused, *compiled.refused]
        if refused:
            return _findings_of(refused, view)
        if any(each.is_open for each in view.inputs):
            return compiled.remarks
        if compiled.lacking or self._depends_on_neighbors:
            return self._of_whole(survey, checked, rehearsed=not compiled.lacking)
        return compiled.remarks

    def findings_of_listed(self, survey: FoldedModel, checked: Checked) -> list[Finding]:
        """An error for each reason why a node that no rule refuses would not compile."""
        if checked.check.standing is not Standing.ERROR:
            return self.findings(survey, checked)
        rows = zip(survey.source.all_nodes, checked.check.rows, strict=True)
        refused = {node for node, row in rows if row.standing is Standing.ERROR}
        listed = [at for at, node in enumerate(survey.source.nodes) if node not in refused]
        return self.findings_of_nodes(survey, checked, listed)

    def findings_of_nodes(
        self, survey: FoldedModel, checked: Checked, positions: Iterable[int]
    ) -> list[Finding]:
        """An error for each reason why one of some nodes would not compile by itself.

        Of nodes that are alike one is looked at, and none whose types are not known.
        """
        wanted, found = set(positions), list[Finding]()
        for alike in representatives(survey.source, checked.kinds) if wanted else ():
            for at in sorted(wanted.intersection(alike)):
                source = sample(survey, [at])
                compiled = self._compiled(source, checked) if source.nodes else _Compiled()
                found += _findings_of(compiled.refused, survey.source)
                found += (_without_kernel(each, self.mode) for each in compiled.lacking)
                if not (compiled.refused or compiled.lacking):
                    break
        return found

    def _compile_nodes(
        self, survey: FoldedModel, checked: Checked, positions: Sequence[int]
    ) -> _Compiled:
        """The nodes at `positions` compiled, up to the device's check."""
        faults = survey.rejections(sorted(positions))
        return _Compiled(faults) if faults else self._compiled(sample(survey, positions), checked)

    def _compiled(
        self, nodes: SourceModel, checked: Checked, *, rehearses: bool = True
    ) -> _Compiled:
        context = PassContext(
            self.soc,
            self.mode,
            str(nodes.path),
            controls=self.controls,
            quant_bias=form_of(nodes.bias_convention),
            only_atc_passes=self.only_atc_passes,
        )
        try:
            source = restated(nodes, checked.placements)
            graph = lower_model(source, self.specs, checked.placements)
            run_passes(graph, context, until=Phase.TYPED)
            remarks = self._remarks(graph, context)
            if rehearses:
                # The device looks at a graph whose dtypes are chosen, constants in theirs.
                FoldConstantCastsPass().run(graph, context)
                description = describe(graph, PackageContents("", self.soc.name))
                rehearse(graph, description, context.file)
        except AtcError as error:
            lacking = tuple(context.decisions.refused)
            return _Compiled(() if lacking else error.diagnostics, lacking)
        return _Compiled(remarks=remarks)

    def _remarks(self, graph: Graph, context: PassContext) -> list[Finding]:
        if not self.controls.clip_weights:
            return []
        return [_clipped(each, context.place(each.node)) for each in clipped_infinities(graph)]

    @property
    def _depends_on_neighbors(self) -> bool:
        """True if the kernels of a node may depend on more than the node.

        Without further controls force_fp16 wants float16 of every float, wherever it is.
        """
        return self.mode is not PrecisionMode.FORCE_FP16 or self.controls.concern_nodes

    def _of_whole(self, survey: FoldedModel, checked: Checked, *, rehearsed: bool) -> list[Finding]:
        """The refusals of the whole model up to the choice of dtypes.

        It takes about as long as the check, so it is left out where it is not needed.
        """
        faults = survey.rejections(survey.rejected)
        compiled = _Compiled(faults)
        if not faults:
            compiled = self._compiled(survey.source, checked, rehearses=not rehearsed)
        lacking = [_without_kernel(each, self.mode) for each in compiled.lacking]
        return lacking or _findings_of(compiled.refused, survey.source) or compiled.remarks


class _Compiled(msgspec.Struct, frozen=True):
    """Result of compiling some nodes of a model."""

    refused: Sequence[Diagnostic] = ()  # why they do not compile
    # those that, apart from the rest, have no kernel at their dtypes
    lacking: Sequence[Refusal] = ()
    # what they compute otherwise than the model says
    remarks: list[Finding] = msgspec.field(default_factory=list)


def _with_infinities(view: SourceModel, kinds: Sequence[int]) -> Iterator[int]:
    """Yield the positions of nodes that read infinities; those of one kind read equal constants."""
    found: dict[int, bool] = {}
    known = kinds if len(kinds) == len(view.nodes) else range(len(view.nodes))
    for position, (node, kind) in enumerate(zip(view.nodes, known, strict=True)):
        if kind not in found:
            found[kind] = _reads_infinities(node)
        if found[kind]:
            yield position


def _reads_infinities(node: SourceNode) -> bool:
    if node.op_type in _OF_CUBE:
        return False
    constants = (each.const for each in node.inputs if each is not None)
    return any(count_infinities(each) for each in constants if each is not None)


def _clipped(found: ClippedInfinities, place: Place) -> Finding:
    return Finding(
        code=INFINITY_CLIPPED,
        standing=Standing.ACCURACY,
        rule=f"{place.op_type or found.node.op}/weight-clip/{found.dtype.value}",
        source="",
        place=place.with_field(f"constant {found.name}"),
        scope="",
        observed=found.observed,
        allowed=found.lack,
        help=_UNCLIPPED,
    )


def _findings_of(refused: Iterable[Diagnostic], view: SourceModel) -> list[Finding]:
    scopes = {(each.index, each.name, each.op_type): each.scope for each in view.all_nodes}
    found = []
    for each in refused:
        place = each.place or Place(str(view.path))
        subject = (place.field or each.code.name).rpartition(" ")[2]
        parts = (place.op_type or "model", "compiled", subject)
        finding = Finding(
            code=each.code,
            standing=Standing.ERROR,
            rule="/".join(parts),
            source="",
            place=place,
            scope=scopes.get((place.node or 0, place.node_name or "", place.op_type or ""), ""),
            observed=Text(""),
            allowed=Text("{refusal}", context="compiler", refusal=each.message),
            help=Text(each.help or each.code.remedy),
        )
        found.append(finding)
    return found


def _without_kernel(refusal: Refusal, mode: PrecisionMode) -> Finding:
    """The finding at the source node; one may come from several target nodes."""
    place = refusal.place
    wants = Text("")
    if refusal.rule == mode.value:
        wants = mode_words(mode)
    elif refusal.rule:
        wants = Text("--{rule} names the node", rule=refusal.rule)
    return Finding(
        code=NO_KERNEL,
        standing=Standing.ERROR,
        rule=f"{place.op_type or refusal.op}/kernel/{refusal.op}",
        source="",
        place=Place(place.file, place.node, place.node_name, place.op_type),
        scope="",
        observed=Text(""),
        allowed=refusal.lack,
        help=refusal.help,
        when=joined([wants, soc_words(refusal.soc) if refusal.soc else Text("")]),
    )
