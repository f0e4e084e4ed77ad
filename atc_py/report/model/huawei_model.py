"""Tables and JSON of `info` for a file of Huawei's atc."""

from collections.abc import Iterator, Sequence

from atc_py.report.tables import Table, format_bytes
from atc_py.results.huawei_facts import (
    HuaweiFacts,
    HuaweiLaunch,
    HuaweiModelFacts,
    HuaweiPictures,
    HuaweiPort,
    HuaweiTensor,
)
from atc_py.text import Text
from atc_py.text.language import spoken

_MOST_GEARS = 20


def huawei_tables(facts: HuaweiFacts) -> list[Table]:
    tables = [_summary(facts)]
    for number, model in enumerate(facts.models):
        if len(facts.models) > 1:
            title = Text("Model {number}", number=number)
            tables.append(Table(title, ("", ""), tuple(_origin_rows(model))))
        tables += _model_tables(model)
    return tables


def _summary(facts: HuaweiFacts) -> Table:
    rows: list[tuple[str, str]] = [
        ("kind", spoken(facts.kind)),
        ("file", format_bytes(facts.file_bytes)),
    ]
    if facts.unknown_shapes:
        rows.append(("shapes", Text("decided by each run")))
    if len(facts.models) == 1:
        rows += _origin_rows(facts.models[0])
    else:
        rows.append(("models", str(len(facts.models))))
    return Table("Offline model of Huawei's atc", ("", ""), tuple(rows))


def _origin_rows(model: HuaweiModelFacts) -> Iterator[tuple[str, str]]:
    unknown = spoken("not stated")
    yield "graph", model.name
    if model.encrypted:
        yield "encrypted", Text("yes: only the sizes of its parts are known")
    yield "atc", model.atc_version or unknown
    yield "operators", model.opp_version or unknown
    if model.framework:
        yield "from", model.framework
    yield "SoC", _soc(model) or unknown
    yield "command line", model.command_line or unknown
    if model.command_line:
        yield "", Text("the command line may hold paths of the machine that built the model")


def _soc(model: HuaweiModelFacts) -> str:
    if model.soc_source == "command line":
        return Text("{soc}, by the command line", soc=model.soc)
    if model.soc_source == "kernels":
        return Text("{soc}, by its kernels", soc=model.soc)
    return model.soc


def _model_tables(model: HuaweiModelFacts) -> Iterator[Table]:
    if model.inputs or model.outputs:
        yield _ports(model)
    for name, gears in model.gears.items():
        yield _gears(name, gears)
    yield from map(_pictures, model.aipp)
    if not model.encrypted:
        yield _contents(model)
        yield _memory(model)
    if model.launches:
        yield _launch_counts(model)
    if model.fusions:
        yield _fusions(model)
    if model.tasks:
        rows = tuple((kind, str(count)) for kind, count in model.tasks.items())
        yield Table("Tasks", ("kind", "count>"), rows, said=(0,))
    rows = tuple((part.name, format_bytes(part.bytes)) for part in model.parts)
    yield Table("Parts of the file", ("part", "size>"), rows)
    if model.ops is not None:
        yield _ops(model.ops)


def _ports(model: HuaweiModelFacts) -> Table:
    def row(kind: str, port: HuaweiPort) -> tuple[str, ...]:
        dims = _dims(port.dims) or spoken("scalar")
        return spoken(kind), port.name, port.dtype, dims, port.format, format_bytes(port.bytes)

    rows = [row("input", port) for port in model.inputs]
    rows += [row("output", port) for port in model.outputs]
    columns = ("", "name", "dtype", "shape", "format", "size>")
    return Table("Inputs and outputs", columns, tuple(rows))


def _gears(name: str, gears: Sequence[tuple[int, ...]]) -> Table:
    rows = [(str(at), ",".join(map(str, gear))) for at, gear in enumerate(gears[:_MOST_GEARS])]
    left = len(gears) - _MOST_GEARS
    if left > 0:
        rows.append(("", Text("and {left} more", left=left)))
    title = Text("Gears: {name}", name=Text(name))
    return Table(title, ("gear>", "values"), tuple(rows), said=(1,))


def _pictures(pictures: HuaweiPictures) -> Table:
    rows = (
        ("op", pictures.op),
        ("mode", pictures.mode or spoken("not stated")),
        *((name, _setting(value)) for name, value in pictures.settings.items()),
    )
    name = pictures.input or pictures.op
    return Table(Text("Pictures for input {name} (AIPP)", name=name), ("", ""), rows)


def _setting(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_setting, value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _contents(model: HuaweiModelFacts) -> Table:
    launches = sum(row.launches for row in model.launches)
    shared = 0 < model.kernels < launches
    kernels = Text(
        "{kernels} for {launches} launches, {size}" if shared else "{kernels}, {size}",
        kernels=model.kernels,
        launches=launches,
        size=format_bytes(model.kernel_bytes),
    )
    rows = (
        ("graphs", str(model.graphs)),
        ("launches", str(launches)),
        ("fused launches", str(sum(fusion.launches for fusion in model.fusions))),
        ("constants", str(model.constants)),
        ("kernels", kernels),
        *((name, str(count)) for name, count in model.counts.items()),
    )
    return Table("Content", ("", ""), rows)


def _memory(model: HuaweiModelFacts) -> Table:
    rows = [(name, format_bytes(size)) for name, size in model.sizes.items()]
    arena = model.sizes.get("memory", 0) - model.sizes.get("zero copy", 0)
    if "zero copy" in model.sizes and arena >= 0:
        rows.insert(1, ("arena", format_bytes(arena)))
    rows.append(("workspace", format_bytes(model.workspace)))
    return Table("Memory", ("", ""), tuple(rows))


def _launch_counts(model: HuaweiModelFacts) -> Table:
    rows = tuple((row.operator, row.core, str(row.launches)) for row in model.launches)
    return Table("Launches", ("operator", "core", "count>"), rows)


def _fusions(model: HuaweiModelFacts) -> Table:
    rows = tuple(
        (
            " + ".join(row.operators),
            str(row.nodes),
            str(row.launches),
            ", ".join(row.passes) or spoken("not stated"),
        )
        for row in model.fusions
    )
    columns = ("operators", "nodes>", "launches>", "fusion passes")
    return Table("Fused launches", columns, rows)


def _ops(ops: Sequence[HuaweiLaunch]) -> Table:
    rows = tuple(
        (
            str(at),
            " + ".join(op.operators),
            op.core,
            str(op.cores),
            ", ".join(op.nodes) or Text("inserted: {name}", name=op.name),
            ", ".join(map(_tensor, op.inputs)),
            ", ".join(map(_tensor, op.outputs)),
        )
        for at, op in enumerate(ops)
    )
    columns = ("launch>", "operators", "core", "cores>", "nodes", "inputs", "outputs")
    return Table("Launches in order", columns, rows, said=(4,))


def _tensor(tensor: HuaweiTensor) -> str:
    return f"{tensor.dtype}[{_dims(tensor.dims)}] {tensor.format}"


def _dims(dims: tuple[int, ...]) -> str:
    return ",".join("?" if dim < 0 else str(dim) for dim in dims)
