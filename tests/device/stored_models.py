"""Models with storage formats and memory plans, from graphs in text form."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from atc_py.device.sim.backend import SimBackend
from atc_py.ir import Graph
from atc_py.ir.parser import parse_graph
from atc_py.package.describe import describe
from atc_py.package.schema import OmMemory, PackageContents
from tests.device.models import Array, MemoryModel

ALIGNMENT = 512


def stored_model(
    text: str,
    places: Sequence[int | str] | None = None,
    arrays: Mapping[str, Array] | None = None,
) -> MemoryModel:
    """Return the model of a typed graph in text form.

    Args:
        text: constants have their data in the text, or in `arrays`.
        places: of all tensors in the order of `graph.values()`; None for no plan. The plan is
            taken as it is: nobody proves it.
        arrays: data of constants by name.
    """
    graph = parse_graph(text)
    model = model_of(graph, arrays or {})
    if places is not None:
        ends = [
            place + -(-value.type.stored_nbytes // ALIGNMENT) * ALIGNMENT
            for value, place in zip(graph.values(), places, strict=True)
            if isinstance(place, int)
        ]
        plan = OmMemory(ALIGNMENT, True, max(ends, default=0), 0, 0, list(places))  # noqa: FBT003
        planned = msgspec.structs.replace(model.description, memory=plan)
        return MemoryModel(planned, model.arrays)
    return model


def model_of(graph: Graph, arrays: Mapping[str, Array] | None = None) -> MemoryModel:
    """Return the model of a typed graph with its plan; `arrays` has data of constants by name."""
    members = {value: f"weights/{at}.npy" for at, value in enumerate(graph.constants())}
    given = dict(arrays or {})
    data = {}
    for value, member in members.items():
        assert value.const is not None
        found = given[value.name] if value.name in given else np.array(value.const.numpy())
        found.flags.writeable = False
        data[member] = found
    return MemoryModel(describe(graph, PackageContents("test", "sim"), members), data)


def run_exact(model: MemoryModel, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return one run on a fresh device whose tensors are stored byte by byte."""
    device = SimBackend()
    device.open()
    outputs = device.run(device.load_exact(model), inputs)
    device.close()
    return outputs


def run_both(model: MemoryModel, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return the outputs of a run in storage formats; a run without must have the same bits."""
    device = SimBackend()
    device.open()
    logical = device.run(device.load(model), inputs)
    handle = device.load_exact(model)
    exact = device.run(handle, inputs)
    assert_same_bits(exact, logical)
    assert_same_bits(device.run(handle, inputs), logical)
    device.close()
    return exact


def assert_same_bits(found: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    """Check for the same names, types and bytes."""
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes(), name
