"""Everything that commands found out about one model; every part may be missing."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from atc_py.check.findings import CheckReport
from atc_py.diag import Diagnostic
from atc_py.onnx_graph.source import FileGraph
from atc_py.results.board import BoardComparison
from atc_py.results.compiled_model import CompiledModel
from atc_py.results.layer_comparison import LayerComparison
from atc_py.results.profile import Profile
from atc_py.system.structs import Result


class ModelSummary(Result, frozen=True):
    """One model as its report shows it.

    Attributes:
        model: the file.
        options: values of the options that were given, by name; none for a flag.
        check: the findings of the check against the operator list.
        file_graph: the graph of the ONNX file.
        compiled: the model as compiled for the first SoC.
        comparison: the layers compared with the original.
        profile: the estimates.
        refusals: why it was not compiled, beside the findings of the check.
        not_compared: why there is no comparison though one was asked for.
        board: a board beside the simulator.
        notes: the dims that were proposed for random data.
        missed: the outputs that miss their targets, and the samples that fit no gear.
        gear: numbers of the gear that it is about, as options spell them; empty without gears.
        shape: dims of the inputs in that gear, or those that the data gave to inputs with open dims, as
            --input-shape takes them.
    """

    model: Path
    options: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    check: CheckReport | None = None
    file_graph: FileGraph | None = None
    compiled: CompiledModel | None = None
    comparison: LayerComparison | None = None
    profile: Profile | None = None
    refusals: tuple[Diagnostic, ...] = ()
    not_compared: tuple[Diagnostic, ...] = ()
    missed: tuple[Diagnostic, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    board: BoardComparison | None = None
    gear: str = ""
    shape: str = ""
