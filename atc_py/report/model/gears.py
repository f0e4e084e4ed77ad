"""Gears of an offline model, or of a conversion, as a table and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.options.gears import Gears, format_gear
from atc_py.package.schema import shape_data_of
from atc_py.report.tables import Table, format_bytes
from atc_py.results.memory_facts import MemoryFacts, memory_facts
from atc_py.tensor.shapes import format_shape
from atc_py.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from atc_py.package.reader import OfflineModel
    from atc_py.results.conversion import GearFacts


def gears_table(model: OfflineModel) -> Table | None:
    if model.gears is None:
        return None
    rows = [
        _row(at, values, shapes, memory_facts(model.at_gear(at).description))
        for at, values, shapes in _gears(model.gears)
    ]
    title = Text("Gears; without a choice gear {largest} runs", largest=model.gears.largest)
    return Table(title, _HEAD, tuple(rows))


def converted_gears(gears: Sequence[GearFacts]) -> Table:
    rows = [_row(at, gear.values, gear.shapes, gear.memory) for at, gear in enumerate(gears)]
    return Table("Gears", _HEAD, tuple(rows))


_HEAD = ("gear>", "numbers", "inputs", "memory>", "arena>")


def _row(
    at: int,
    values: Sequence[int],
    shapes: Mapping[str, tuple[int, ...]],
    memory: MemoryFacts | None,
) -> tuple[str, ...]:
    sizes = ("", "")
    if memory is not None:
        sizes = format_bytes(memory.total), format_bytes(memory.arena)
    return str(at), format_gear(values), gear_shapes_text(shapes), *sizes


def gears_json(model: OfflineModel) -> dict[str, object] | None:
    gears = model.gears
    if gears is None:
        return None
    from atc_py.results.conversion import GearFacts

    listed = []
    for at, values, shapes in _gears(gears):
        description = model.at_gear(at).description
        facts = GearFacts(values, shapes, len(description.nodes), memory_facts(description))
        listed.append(facts.as_json())
    data = shape_data_of(gears)
    return {
        "kind": gears.kind.value,
        "largest": gears.largest,
        "inputs": {name: list(dims) for name, dims in gears.shapes.items()},
        "shape_data": {
            "name": data.name,
            "dtype": data.dtype,
            "shape": data.shape,
            "format": data.format,
        },
        "gears": listed,
    }


def _gears(gears: Gears) -> Iterator[tuple[int, tuple[int, ...], dict[str, tuple[int, ...]]]]:
    for at, values in enumerate(gears.gears):
        yield at, values, dict(gears.fed_shapes_of(at))


def gear_shapes_text(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {format_shape(shape)}" for name, shape in shapes.items())
