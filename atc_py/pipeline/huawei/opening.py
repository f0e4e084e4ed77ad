"""Offline models of Huawei's atc imported, so that they open as those of atc-py do."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from atc_py import __version__
from atc_py.diag import (
    BAD_HUAWEI_MODEL,
    CANNOT_WRITE,
    HUAWEI_ASSUMED,
    HUAWEI_LEFT_OUT,
    HUAWEI_NOT_RUN,
    MEMORY_LIMIT,
    AtcError,
    Code,
    Diagnostic,
    Place,
)
from atc_py.ir import Graph, MemoryPlan, Value, prove, size_in_arena
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.onnx_graph.reading.read import read_model
from atc_py.options.gears import Gears
from atc_py.package.ge.model import HuaweiFile, HuaweiModel, open_huawei
from atc_py.package.reader import OfflineModel, map_archive
from atc_py.package.schema import ATC_CMDLINE, PackageContents
from atc_py.package.verify import verify
from atc_py.passes.memory.plan_memory import plan_memory
from atc_py.passes.memory.proof import placement_of, unsound_places
from atc_py.pipeline.huawei.gears import model_gears
from atc_py.pipeline.huawei.graphs import Imported, Missing, import_graph
from atc_py.pipeline.huawei.tensors import NotModeledError
from atc_py.pipeline.huawei_facts import soc_of
from atc_py.system.input_files import unmap
from atc_py.system.structs import replace
from atc_py.target import Soc, find_soc, socs
from atc_py.text import Text, error_text, plural

ALIGNMENT, PADDING = 512, 32
"""Bytes: offsets in real files are multiples, sizes are rounded up and as much follows [proven]."""

_DEFAULT = "sim"
_HELP = Text("`atc-py info` shows what the file says; docs/real-om.md lists what can be run")
_LIKE = Text("give the ONNX file that it was compiled from with --like")


def open_imported(path: Path, like: Path | None, submodel: str | None) -> OfflineModel:
    nodes = [] if like is None else read_model(like, lenient=True).nodes
    network = {node.name: node for node in nodes if node.name}
    with open_huawei(path) as file:
        return _imported(_chosen_model(file, path, submodel), path, network)


def _chosen_model(file: HuaweiFile, path: Path, submodel: str | None) -> HuaweiModel:
    """The one model of a file that has a graph, or the one that is named.

    Positions are those of `info`.
    """
    models = file.all_models()
    with_graphs = [model for model in models if model.graphs]
    if submodel is None and len(with_graphs) == 1:
        return with_graphs[0]
    if not with_graphs:
        if file.om2 is not None:
            raise _refused(path, Text("an om2 archive has code in place of a graph"))
        if any(model.header.is_encrypted for model in models):
            raise _refused(path, Text("it is encrypted"))
        raise _refused(path, Text("it has no model with a graph"))
    names = {str(at): model for at, model in enumerate(models) if model.graphs}
    names |= {model.graphs[0].name: model for model in reversed(with_graphs)}
    if submodel in names:
        return names[submodel]
    listed = ", ".join(
        f"{at} {model.graphs[0].name}" for at, model in enumerate(models) if model.graphs
    )
    if submodel is None:
        reason = Text("it has {count} models: {listed}", count=len(with_graphs), listed=listed)
    else:
        reason = Text("it has no model {name}; it has {listed}", name=repr(submodel), listed=listed)
    raise _refused(path, reason, Text("name one of them with --submodel, by position or name"))


def _refused(path: Path, reason: Text, help_: Text | None = None) -> AtcError:
    text = Text("{path} cannot be run: {reason}", path=path, reason=reason)
    return HUAWEI_NOT_RUN.error(text, place=Place(str(path)), help=help_ or _HELP)


def _imported(model: HuaweiModel, path: Path, network: Mapping[str, OnnxNode]) -> OfflineModel:
    from atc_py.system.temp_folders import work_folder

    try:
        gears = model_gears(model)
    except NotModeledError as error:
        raise _refused(path, error_text(error)) from error
    positions = range(len(gears.gears)) if gears is not None else [None]
    found = [_graph(model, path, network, gear) for gear in positions]
    soc, findings = _soc(model, path)
    findings += dict.fromkeys(finding for each in found for finding in _findings(each, path))
    with ExitStack() as stack:
        archive = stack.enter_context(work_folder()) / "model.om"
        try:
            _write(found, gears, soc, model, archive, path)
            data = map_archive(archive)
            stack.callback(unmap, data)
            whole = verify(data, str(path))
        except AtcError as error:
            if error.diagnostics[0].code in _OWN:
                raise
            raise _refused(path, error.diagnostics[0].message) from error
        imported = OfflineModel(path, data, whole)
        imported.archive, imported.findings = archive, tuple(findings)
        imported.kept = stack.pop_all()
    largest = found[0 if gears is None else gears.largest]
    imported.cores = {name: launch.cores for name, launch in largest.launches.items()}
    return imported


def _graph(
    model: HuaweiModel, path: Path, network: Mapping[str, OnnxNode], gear: int | None
) -> Imported:
    found = import_graph(model, network, gear)
    if not found.graph.outputs:
        causes = [each for each in found.missing if each.is_cause]
        if not causes:
            raise _refused(path, Text("it has no output"))
        raise AtcError(*(_left_out(path, each, HUAWEI_NOT_RUN) for each in causes[:_MOST]))
    return found


_OWN = frozenset({BAD_HUAWEI_MODEL, CANNOT_WRITE, MEMORY_LIMIT})
"""Codes that are not of the graph that was made of the file."""

_MOST = 20
"""Operators that one error names."""


def _write(
    found: Sequence[Imported],
    gears: Gears | None,
    soc: Soc,
    model: HuaweiModel,
    archive: Path,
    path: Path,
) -> None:
    """Write the graph, or that of each gear, with its kernels, as an offline model."""
    from atc_py.package.gears_writer import CompiledGear, write_gears
    from atc_py.package.writer import write_model

    packed = [CompiledGear(each.graph, _contents(each, soc, model, path)) for each in found]
    if gears is None:
        write_model(packed[0].graph, archive, packed[0].contents)
    else:
        write_gears(packed, gears, archive)


def _contents(found: Imported, soc: Soc, model: HuaweiModel, path: Path) -> PackageContents:
    """Kernels, options and report of a graph, which is given a memory plan."""
    from atc_py.kernels.kernels import emit_kernels
    from atc_py.passes.layout.reasons import layout_record
    from atc_py.system.structs import replace

    graph = found.graph
    own_plan = place(graph, found.places)
    kernels = emit_kernels(graph, soc)
    if graph.memory is not None:
        graph.memory = replace(graph.memory, workspace=kernels.workspace)
    options = {"precision_mode": "force_fp16"}
    command = model.attributes.text("atc_cmdline")
    if command:
        options[ATC_CMDLINE] = command
    return PackageContents(
        producer=f"atc-py {__version__}",
        soc=soc.name,
        options=options,
        kernels=kernels.files,
        kernel_of=kernels.kernel_of,
        report={
            "soc": soc.name,
            "layout": layout_record(graph),
            RECORD: _record(found, path, own_plan=own_plan)
            | {"opp_version": model.attributes.text("opp_version")},
        },
    )


RECORD = "huawei"
"""Where the report of an imported model says what the file had."""


def _record(found: Imported, path: Path, *, own_plan: bool) -> dict[str, object]:
    """The launches of the file by their first node, what is missing, what was assumed."""
    return {
        "file": str(path),
        "memory_plan": "of the file" if own_plan else "of atc-py",
        "launches": {
            name: {
                "op": launch.op.name,
                "cores": launch.cores,
                "core": launch.core,
                "kernel": launch.kernel,
                "passes": list(launch.passes),
                "nodes": list(launch.nodes),
            }
            for name, launch in found.launches.items()
        },
        "missing": [
            {"op": each.op, "type": each.type, "reason": each.reason} for each in found.missing
        ],
        "assumed": dict(found.assumed),
        "lost_outputs": found.lost,
    }


def _soc(model: HuaweiModel, path: Path) -> tuple[Soc, list[Diagnostic]]:
    """The SoC that a model is for, with a finding where it is the first of its family, or none."""
    name, _ = soc_of(model)
    known = [soc for soc in socs() if soc.name.lower() == name.lower()]
    if known:
        return known[0], []
    family = [soc for soc in socs() if name and soc.name.lower().startswith(name.lower())]
    taken = family[0] if family else find_soc(_DEFAULT)
    text = Text("the file is for {name}; {taken} is assumed")
    if not family:
        text = Text("the file does not state its SoC; {taken} is assumed")
    text = text.with_values(name=name, taken=taken.name)
    return taken, [HUAWEI_ASSUMED.diagnostic(text, place=Place(str(path)))]


def _findings(found: Imported, path: Path) -> list[Diagnostic]:
    """Warnings about what was left out, and one about what was assumed."""
    causes = [each for each in found.missing if each.is_cause]
    findings = [_left_out(path, each, HUAWEI_LEFT_OUT) for each in causes[:_MOST]]
    if found.lost:
        text = Text("outputs that need what is left out are missing: {names}")
        findings.append(
            HUAWEI_LEFT_OUT.diagnostic(
                text.with_values(names=", ".join(found.lost)), place=Place(str(path)), help=_HELP
            )
        )
    if found.assumed:
        op, reason = next(iter(found.assumed.items()))
        count = len(found.assumed)
        findings.append(
            HUAWEI_ASSUMED.diagnostic(
                plural(
                    count,
                    "facts of one launch are assumed; of {op}: {reason}",
                    "facts of {count} launches are assumed; of {op}: {reason}",
                    count=count,
                    op=repr(op),
                    reason=reason,
                ),
                place=Place(str(path)),
                help=_LIKE,
            )
        )
    return findings


def _left_out(path: Path, missing: Missing, code: Code) -> Diagnostic:
    text = Text("{op} ({type}): {reason}")
    return code.diagnostic(
        text.with_values(op=repr(missing.op), type=missing.type, reason=missing.reason),
        place=Place(str(path)),
        help=_HELP,
    )


def place(graph: Graph, places: Mapping[Value, int]) -> bool:
    """Give a graph a memory plan; True if it is that of the file, with `places` in its arena."""
    plan = plan_memory(graph, ALIGNMENT, padding=PADDING)
    graph.memory = plan
    in_arena = [value for value, spot in plan.spots.items() if isinstance(spot, int)]
    if not all(value in places for value in in_arena):
        return False
    spots = dict(plan.spots) | {value: places[value] for value in in_arena}
    ends = (
        places[value] + size_in_arena(value.type.stored_nbytes, ALIGNMENT, PADDING)
        for value in in_arena
    )
    graph.memory = _sound(graph, replace(plan, spots=spots, arena=max(ends, default=0)))
    if graph.memory is None:
        graph.memory = plan
        return False
    return True


def _sound(graph: Graph, plan: MemoryPlan) -> MemoryPlan | None:
    """The plan with the bound that its order has; None where it is not sound."""
    values = graph.values()
    graph.memory = replace(plan, bound=prove(placement_of(graph, plan, values)).widest.nbytes)
    faults = list(unsound_places(graph, values, ALIGNMENT, PADDING))
    return None if faults else graph.memory
