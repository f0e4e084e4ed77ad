"""What CANN makes of the network that a model of Huawei's atc came from: its known deviations from ONNX."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from atc_py.diag import DEVIATES_ON_CANN, AtcError, Diagnostic, Place
from atc_py.fix.as_cann import WrittenOut, file_as_cann
from atc_py.onnx_graph.reading.read import read_model
from atc_py.options.compile_options import CompileOptions
from atc_py.package.reader import OfflineModel
from atc_py.pipeline.huawei.opening import RECORD
from atc_py.pipeline.judging import judge_of
from atc_py.pipeline.lowering import cann_nodes
from atc_py.results.cann_nodes import CannSemantics
from atc_py.system.structs import replace
from atc_py.target import find_soc
from atc_py.tensor.shapes import closed_shape
from atc_py.text import Text, Words, plural

_RELEASES = (
    *(((9, 2), "9.2"), ((9, 1), "9.1"), ((8, 6), "9.0"), ((8, 5), "8.5")),
    *(((7, 2), "8"), ((7, 0), "7"), ((6, 0), "6"), ((1, 82), "6"), ((1, 0), "5")),
)
"""Releases of CANN by the least version of the operators: 1.75 and 1.81 are of CANN 20.2 and 5.1,
7.1 of 7.0 and 7.6 of 8.0 [proven]; what is between is inferred."""


class NetworkSemantics(NamedTuple):
    """The nodes of a network that CANN computes otherwise than ONNX defines."""

    # those of the release that compiled it; None where there are none, the file does not say which
    # release that is, or the network cannot be judged
    nodes: CannSemantics | None
    warnings: tuple[Diagnostic, ...]  # one about each deviation, in words


_NONE = NetworkSemantics(None, ())


def network_semantics(
    package: OfflineModel, network: Path, options: CompileOptions
) -> NetworkSemantics:
    release = _release(package)
    if release is None:
        return _NONE
    own = replace(options, precision=replace(options.precision, cann=release))
    description = package.description
    shapes = {
        port.name: closed_shape(tuple(description.tensors[port.tensor].shape))
        for port in description.inputs
        if None not in description.tensors[port.tensor].shape
    }
    try:
        judge = judge_of(own, find_soc(description.soc))
        file = read_model(network)
        known = {each.name for each in file.inputs}
        given = {name: shape for name, shape in shapes.items() if name in known}
        _, written = file_as_cann(file, judge.conditions, judge.specs, given)
    except AtcError:
        return _NONE
    nodes = cann_nodes(written)
    if not nodes:
        return _NONE
    return NetworkSemantics(
        CannSemantics(release, nodes), tuple(_warnings(written, release, network))
    )


def _warnings(written: Iterable[WrittenOut], release: str, network: Path) -> Iterator[Diagnostic]:
    """A warning about each deviation, at the first node that meets it."""
    met: dict[tuple[str, str], list[WrittenOut]] = {}
    for each in written:
        met.setdefault((each.operator, each.name), []).append(each)
    for (operator, name), nodes in met.items():
        effect, first = nodes[0].effect, nodes[0].node
        said = plural(
            len(nodes),
            "CANN {major} computes this node differently from ONNX, {name}: ",
            "CANN {major} computes this node and {more} more differently from ONNX, {name}: ",
            major=release,
            more=len(nodes) - 1,
            name=f"{operator}/{name}",
        )
        yield DEVIATES_ON_CANN.diagnostic(
            said + Words(effect.en, effect.zh),
            place=Place(str(network), first.index, first.name, first.op_type),
            help=_ADVICE,
        )


_ADVICE = Text(
    "a board agrees with the offline model; `atc-py fix --for cann` writes a network that "
    "CANN and ONNX read the same way"
)


def _release(package: OfflineModel) -> str | None:
    """The release of CANN that compiled a model, by the version of its operators."""
    record = package.report.get(RECORD)
    version = record.get("opp_version") if isinstance(record, dict) else None
    parts = str(version or "").split(".")[:2]
    if len(parts) < 2 or not all(part.isdecimal() for part in parts):  # noqa: PLR2004
        return None
    numbers = int(parts[0][:4]), int(parts[1][:4])
    return next((each for least, each in _RELEASES if numbers >= least), None)
