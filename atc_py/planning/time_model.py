"""Time of an assignment before it is compiled: kernels by line and dtype, and casts in between.

Kernels are those of two or three compiled models, in which all lines have one dtype. A Cast is
counted for each tensor that passes between lines of different dtypes; how nodes fuse with one dtype
or another is what these models show. The time of the compiled assignment, which decides, is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.compare.candidates import line_of
from atc_py.cost.estimate import estimate
from atc_py.cost.operation import KernelEngine, LaunchGroup, Operation, Source, Tensor, Transfer
from atc_py.cost.reading import launches_of
from atc_py.planning.assignment import PORTS
from atc_py.target import find_operator, find_soc
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atc_py.package.schema import OmModel

__all__ = ["TimeModel", "cast_count", "seconds_by_line"]

_CAST = "Cast"


class TimeModel:
    """Estimated seconds of lines and of casts between them.

    Attributes:
        seconds: by dtype and line.
        casts: seconds of the casts between two lines if their dtypes differ.
    """

    def __init__(self, models: Mapping[str, OmModel], narrow: str) -> None:
        """Read the compiled models by the dtype of their lines; `narrow` names that of the mode."""
        self.seconds = {dtype: seconds_by_line(model) for dtype, model in models.items()}
        self.casts = _casts_between(models[narrow])

    def saved(self, line: str, dtype: str, other: str) -> float:
        """Return the seconds that `dtype` saves on a line, compared with another one."""
        return self.seconds[other].get(line, 0.0) - self.seconds[dtype].get(line, 0.0)


def cast_count(model: OmModel) -> int:
    """Return the Cast kernels of a compiled model."""
    return sum(node.op == _CAST for node in model.nodes)


def seconds_by_line(model: OmModel) -> dict[str, float]:
    """Return the expected seconds of the kernels of each line; casts and moves belong to none."""
    soc = find_soc(model.soc)
    found: dict[str, float] = {}
    for placed in launches_of(model):
        lines = (line_of(model.nodes[at]) for at in placed.nodes)
        line = next((each for each in lines if each is not None), None)
        if line is not None:
            found[line] = found.get(line, 0.0) + estimate(placed.launch, soc).expected
    return found


def _casts_between(model: OmModel) -> dict[tuple[str, str], float]:
    """Return the seconds of casts on the tensors that pass from one line to another."""
    makers = {port.tensor: (PORTS, port.tensor) for port in model.inputs}
    found: dict[tuple[str, str], float] = {}
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
            found[pair] = found.get(pair, 0.0) + seconds[tensor]
        makers |= {at: (line, at) for at in node.outputs}
    for port in model.outputs:
        maker, tensor = makers.get(port.tensor, (PORTS, port.tensor))
        if maker != PORTS and DType(model.tensors[tensor].dtype).is_float:
            pair = (maker, PORTS)
            found[pair] = found.get(pair, 0.0) + _cast_seconds(model, tensor)
    return found


def _cast_seconds(model: OmModel, tensor: int) -> float:
    """Return the seconds of a Cast of a tensor to float32."""
    row = find_operator(_CAST)
    if row is None:
        return 0.0
    shape = tuple(1 if dim is None else dim for dim in model.tensors[tensor].shape)
    before, after = Tensor(shape, DType.FLOAT16), Tensor(shape, DType.FLOAT32)
    launch = LaunchGroup(
        (Operation(row, (before,), (after,)),),
        KernelEngine.AICORE,
        (Transfer(before.nbytes, Source.RESULT),),
        (Transfer(after.nbytes, Source.RESULT),),
    )
    return estimate(launch, find_soc(model.soc)).expected
