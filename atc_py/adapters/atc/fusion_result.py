"""`fusion_result.json`: what the passes did, by ATC's names, as its fusion engine writes it.

The file holds the form that CANN 8 writes [proven]: a list of one object with the sections
`graph_fusion` and `ub_fusion`, names in order, counts as texts, four blanks of indent; a section or a
pass without a match is absent. Counts are those of the passes here: of rules of ATC that no pass here
does, and of those that match and change nothing, the file says nothing.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from atc_py.package.reader import open_model
from atc_py.package.schema import OmModel
from atc_py.results.conversion import Conversion, FusionEffect
from atc_py.system.atomic_files import atomic_write, make_folder
from atc_py.target import Soc, find_operator, find_soc
from atc_py.target.soc import Isa

_FILE_NAME = "fusion_result.json"

_MODE = 0o640
_OF_UB = "Tbe"
_OF_GRAPH_ENGINE = frozenset(
    {
        "CommonSubexpressionEliminationPass",
        "SameTransdataBreadthFusionPass",
        "TransOpBreadthFusionPass",
    }
)
"""Passes of the graph engine, which the fusion engine does not count."""

_CONVOLUTIONS = frozenset({"Conv2D", "DepthwiseConv2D"})
_PRODUCTS = frozenset({"MatMulV2", "BatchMatMulV2"})
_OF_PRODUCTS = ("ATbeMatmulElemwiseFusionPass", "TbeMatmulFixPipeFusionPass")
_OTHER_HEADS = {
    "Conv2DTransposeD": ("TbeDxElemwisePass", "TbeDxFixpipeFusionPass"),
    "Conv3D": ("TbeConv3dElemwisePass", "TbeConv3dElemwisePass"),
}
"""Rules without and with a fix pipe behind the cube."""

_LAYERS = {"DynamicGRUV2": "CommonGRUFusionPass", "DynamicRNN": "CommonLSTMFusionPass"}
"""Rules that make kernels of one direction of recurrent layers, which lowering does here. CANN of 2021
called the first one GRUFusionPass."""

_DEQUANTS = {
    (False, False): "TbeConvDequantFusionPass",
    (False, True): "TbeConvDequantQuantFusionPass",
    (True, False): "TbeConvDequantVaddReluFusionPass",
    (True, True): "TbeConvDequantVaddReluQuantFusionPass",
}
"""Of a convolution of int8, by whether its launch has a sum and whether it quantizes."""


def save_fusion_result(done: Conversion) -> None:
    """Write the file of a conversion; nothing where no pass of ATC's matched."""
    with open_model(done.output) as model:
        document = fusion_result(done.facts.fusions, model.description, find_soc(done.facts.soc))
    path = _path()
    if not document:
        path.unlink(missing_ok=True)
        return
    with atomic_write(path) as file:
        file.write(f"[{json.dumps(document, indent=4, sort_keys=True)}]".encode())
    path.chmod(_MODE)


def _path() -> Path:
    """In the working directory, or where ATC's own files are wanted in a folder of the process there."""
    folder = os.environ.get("ASCEND_WORK_PATH", "")
    if not folder:
        return Path(_FILE_NAME)
    path = Path(folder, "FE", str(os.getpid()), _FILE_NAME)
    make_folder(path.parent)
    return path


def fusion_result(effects: Sequence[FusionEffect], model: OmModel, soc: Soc) -> dict[str, object]:
    """The one object of the file; empty where nothing matched."""
    graph, launches = _graph_rules(effects), _launches(model)
    named = [rule_of_launch(ops, soc, branches=branches) for ops, branches in launches]
    rules = Counter(filter(None, named))
    if soc.fix_pipe:
        cube = _CONVOLUTIONS | _PRODUCTS | {"Conv2DTransposeD"}
        heads = [
            rule for rule, (ops, _) in zip(named, launches, strict=True) if cube.intersection(ops)
        ]
        graph["FIXPIPEFUSIONPASS"] = (len(heads), sum(map(bool, heads)))
    for op, rule in _LAYERS.items():
        layers = {node.origins[0].index for node in model.nodes if node.op == op and node.origins}
        graph[rule] = (len(layers), len(layers))
    found: dict[str, object] = {}
    if graph := {name: counts for name, counts in graph.items() if counts[0]}:
        found["graph_fusion"] = {name: _times(*counts) for name, counts in graph.items()}
    if rules:
        found["ub_fusion"] = {
            name: {**_times(count, count), "repository_hit_times": "0"}
            for name, count in rules.items()
        }
    return {**found, "session_and_graph_id": "0_0"} if found else {}


def rule_of_launch(ops: Sequence[str], soc: Soc, *, branches: bool = False) -> str:
    """ATC's name for the rule that makes one launch of these operators; empty for none.

    Args:
        ops: the operators in order.
        soc: the target.
        branches: whether one of their results, other than the last, has two readers.
    """
    if len(ops) < len(("head", "function")):
        return ""
    head = ops[0]
    if head == "Aipp":
        return "TbeAippConvZ" if soc.isa is Isa.V100 else "TbeAippCommonFusionPass"
    if head in _CONVOLUTIONS:
        return _rule_of_convolution(ops, soc)
    if head in _OTHER_HEADS:
        return _OTHER_HEADS[head][soc.fix_pipe]
    if head in _PRODUCTS:
        return _rule_of_product(ops, soc)
    return _rule_of_functions(ops, branches=branches)


def _rule_of_functions(ops: Sequence[str], *, branches: bool) -> str:
    if ops[-1] == "AscendQuant":
        return "TbeEltwiseQuantFusionPass"
    return "TbeMultiOutputFusionPass" if branches else "AutomaticUbFusion"


def _rule_of_product(ops: Sequence[str], soc: Soc) -> str:
    quantized = "AscendDequant" in ops and not soc.fix_pipe
    return "TbeMatmulDequantFusionPass" if quantized else _OF_PRODUCTS[soc.fix_pipe]


def _rule_of_convolution(ops: Sequence[str], soc: Soc) -> str:
    if "Swish" in ops:
        return "TbeConvSigmoidMulQuantFusionPass"
    if soc.fix_pipe:
        return "TbeConvFixPipeFusionPass"
    if "AscendRequant" in ops:
        return "TbeConvRequantFusionPass"
    if "AscendDequant" in ops:
        return _DEQUANTS["Add" in ops, "AscendQuant" in ops]
    return "TbeConvCommonRules0FusionPass"


def _graph_rules(effects: Sequence[FusionEffect]) -> dict[str, tuple[int, int]]:
    """Matches and effects of the rules of graph fusion, by ATC's names."""
    found: Counter[str] = Counter()
    applied: Counter[str] = Counter()
    for effect in effects:
        names = [name for name in effect.atc_names if name not in _OF_GRAPH_ENGINE]
        if effect.is_ub or not names or names[0].startswith(_OF_UB):
            continue
        record, named = effect.record, effect.record.rules
        applied.update(named)
        found.update(named)
        rest = sum(named.values())
        applied[names[0]] += record.effective - rest
        found[names[0]] += record.matched - rest
    return {name: (count, applied[name]) for name, count in found.items()}


def _launches(model: OmModel) -> list[tuple[list[str], bool]]:
    """The operators of each launch in order, views aside, and whether it branches."""
    readers = Counter(tensor for node in model.nodes for tensor in dict.fromkeys(node.inputs))
    scope_of = {tensor: node.scope for node in model.nodes for tensor in node.outputs}
    scopes: dict[int, list[str]] = {}
    branching: set[int] = set()
    alone = []
    for node in model.nodes:
        row = find_operator(node.op)
        if row is None or not row.launches_kernel:
            continue
        if not node.scope:
            alone.append(([node.op], False))
            continue
        scopes.setdefault(node.scope, []).append(node.op)
        if any(readers[at] > 1 and scope_of.get(at) == node.scope for at in node.inputs):
            branching.add(node.scope)
    return [*((ops, scope in branching) for scope, ops in scopes.items()), *alone]


def _times(matched: int, effective: int) -> Mapping[str, str]:
    return {"effect_times": str(effective), "match_times": str(matched)}
