"""Time of an assignment before it is compiled: kernels by line and dtype, and casts in between.

Kernels are those of two or three compiled models, in which all lines have one dtype. A Cast is
counted for each tensor that passes between lines of different dtypes; how nodes fuse with one dtype
or another is what these models show. The time of the compiled assignment, which decides, is exact.
"""

from collections.abc import Mapping

from atc_py.compare.candidates import line_of
from atc_py.cost.estimate import estimate
from atc_py.cost.operation import KernelEngine, LaunchGroup, Operation, Source, Tensor, Transfer
from atc_py.cost.reading import launches_of
from atc_py.package.schema import OmModel
from atc_py.package.stored_types import TRANS_DATA
from atc_py.quantizing.plan.assignment import PORTS
from atc_py.target import find_operator, find_soc
from atc_py.tensor.dtypes import DType

_CAST = "Cast"

_NEVER = 1.0
"""Seconds for a node in another dtype than the one that it is fused into: they would stand apart."""


class TimeModel:
    """Estimated seconds of lines and of casts between them."""

    def __init__(self, models: Mapping[str, OmModel], narrow: str) -> None:
        """Read the compiled models by the dtype of their lines; `narrow` names that of the mode."""
        # by dtype and line
        self.seconds = {dtype: seconds_by_line(model) for dtype, model in models.items()}
        # seconds of the casts between two lines if their dtypes differ
        self.casts = _casts_between(models[narrow])
        for pair in _fused_pairs(models, narrow):
            self.casts[pair] = _NEVER

    def saved(self, line: str, dtype: str, other: str) -> float:
        """The seconds that `dtype` saves on a line, compared with another one."""
        return self.seconds[other].get(line, 0.0) - self.seconds[dtype].get(line, 0.0)


def _fused_pairs(models: Mapping[str, OmModel], narrow: str) -> set[tuple[str, str]]:
    """Lines that are fused in the `narrow` model and alone in others, with their readers."""
    known = {line_of(node) for node in models[narrow].nodes}
    results = set()
    for model in models.values():
        makers = {at: line_of(node) for node in model.nodes for at in node.outputs}
        for node in model.nodes:
            reader = line_of(node)
            for maker in (makers.get(at) for at in node.inputs):
                if maker is not None and maker not in known and reader in known and reader:
                    results.add((maker, reader))
    return results


def cast_count(model: OmModel) -> int:
    return sum(node.op == _CAST for node in model.nodes)


def seconds_by_line(model: OmModel) -> dict[str, float]:
    """The expected seconds of the kernels of each line; casts belong to none."""
    soc = find_soc(model.soc)
    results: dict[str, float] = {}
    makers = {at: line_of(node) for node in model.nodes for at in node.outputs}
    readers = {at: line_of(node) for node in model.nodes for at in node.inputs}
    for placed in launches_of(model):
        nodes = [model.nodes[at] for at in placed.nodes]
        line = next((line_of(node) for node in nodes if line_of(node) is not None), None)
        if line is None and nodes[-1].op != _CAST:
            # A change of storage is for the sake of the operator that is stored in blocks.
            result = nodes[-1].outputs[0]
            is_blocked = model.tensors[result].storage is not None
            line = readers.get(result) if is_blocked else makers.get(nodes[0].inputs[0])
        if line is not None:
            results[line] = results.get(line, 0.0) + estimate(placed.launch, soc).expected
    return results


def _casts_between(model: OmModel) -> dict[tuple[str, str], float]:
    makers = {port.tensor: (PORTS, port.tensor) for port in model.inputs}
    results: dict[tuple[str, str], float] = {}
    seconds: dict[int, float] = {}
    for node in model.nodes:
        line = line_of(node)
        reached = [makers[at] for at in node.inputs if at in makers]
        if line is None:
            # What inserted nodes and views make is still the value of the line before them.
            makers |= {at: reached[0] for at in node.outputs if reached}
            continue
        for maker, tensor in reached:
            if maker == line or not DType(model.tensors[tensor].dtype).is_float:
                continue
            if tensor not in seconds:
                seconds[tensor] = _cast_seconds(model, tensor)
            pair = (maker, line)
            results[pair] = results.get(pair, 0.0) + seconds[tensor]
        makers |= {at: (line, at) for at in node.outputs}
    for port in model.outputs:
        maker, tensor = makers.get(port.tensor, (PORTS, port.tensor))
        if maker != PORTS and DType(model.tensors[tensor].dtype).is_float:
            pair = (maker, PORTS)
            results[pair] = results.get(pair, 0.0) + _cast_seconds(model, tensor)
    return results


def _cast_seconds(model: OmModel, tensor: int) -> float:
    """The seconds of a Cast of a tensor to float32, and of the change of blocks to rows."""
    shape = tuple(1 if dim is None else dim for dim in model.tensors[tensor].shape)
    narrow, broad = Tensor(shape, DType.FLOAT16), Tensor(shape, DType.FLOAT32)
    seconds = _kernel_seconds(model, _CAST, narrow, broad)
    if model.tensors[tensor].storage is not None:
        seconds += _kernel_seconds(model, TRANS_DATA, narrow, narrow)
    return seconds


def _kernel_seconds(model: OmModel, op: str, before: Tensor, after: Tensor) -> float:
    row = find_operator(op)
    if row is None:
        return 0.0
    launch = LaunchGroup(
        (Operation(row, (before,), (after,)),),
        KernelEngine.AICORE,
        (Transfer(before.nbytes, Source.RESULT),),
        (Transfer(after.nbytes, Source.RESULT),),
    )
    return estimate(launch, find_soc(model.soc)).expected
