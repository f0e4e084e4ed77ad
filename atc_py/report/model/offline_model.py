"""Tables and JSON of `info` for an offline model; pictures before and after AIPP."""

from collections import Counter
from collections.abc import Iterator, Sequence

from atc_py.options.aipp import AippSettings
from atc_py.package.reader import OfflineModel
from atc_py.package.schema import OmModel, OmPort
from atc_py.report.model.gears import gears_json, gears_table
from atc_py.report.model.memory_tables import memory_tables
from atc_py.report.model.semantics import (
    bias_rows,
    newer_rows,
    recorded_biases,
    semantics_tables,
)
from atc_py.report.tables import Table, format_bytes
from atc_py.results.aipp_preview import AippPreview, AippStep
from atc_py.results.cann_nodes import read_newer, read_semantics
from atc_py.results.memory_facts import memory_facts
from atc_py.results.picture_inputs import PictureInput, picture_inputs
from atc_py.text import Text
from atc_py.text.language import spoken


def picture_tables(inputs: Sequence[PictureInput]) -> list[Table]:
    title = Text("Pictures for input {name} (AIPP)")
    return [Table(title.with_values(name=row.name), ("", ""), tuple(_rows(row))) for row in inputs]


def _rows(picture_input: PictureInput) -> Iterator[tuple[str, str]]:
    settings = picture_input.settings
    yield (
        "input",
        Text(
            "{nbytes} bytes, uint8 [{dims}] {format}",
            nbytes=picture_input.nbytes,
            dims=",".join(map(str, picture_input.shape)),
            format=picture_input.format,
        ),
    )
    if picture_input.is_dynamic:
        mode = Text("dynamic: settings of a run in {parameters}")
        yield "mode", mode.with_values(parameters=picture_input.parameters)
        most = Text("at most {max_src_image_size} bytes, all together")
        yield "pictures", most.with_values(max_src_image_size=settings.max_src_image_size)
    else:
        yield "mode", spoken("static")
        size = f"{settings.src_image_size_w} x {settings.src_image_size_h}"
        text = Text("{input_format}, {size} (width x height)")
        yield "pictures", text.with_values(input_format=settings.input_format, size=size)
        yield from _steps(settings)
    result = ",".join(map(str, picture_input.features))
    yield "output", f"{picture_input.dtype.value} [{result}] NCHW"


def _steps(settings: AippSettings) -> Iterator[tuple[str, str]]:
    swaps = [name for name in ("rbuv_swap_switch", "ax_swap_switch") if getattr(settings, name)]
    if swaps:
        yield "swaps", ", ".join(swaps)
    if settings.crop:
        place = f"{settings.load_start_pos_w},{settings.load_start_pos_h}"
        size = f"{settings.crop_size_w} x {settings.crop_size_h}"
        yield "crop", Text("{size} from column, row {place}", size=size, place=place)
    if settings.csc_switch:
        matrix = " / ".join(_numbers(settings.matrix[at : at + 3]) for at in (0, 3, 6))
        yield "colors", Text("matrix {matrix}", matrix=matrix)
        yield "input bias", _numbers(settings.input_bias)
        yield "output bias", _numbers(settings.output_bias)
    yield "mean", _numbers(settings.mean_chn)
    yield "min", _numbers(settings.min_chn)
    yield "var reci", _numbers(settings.var_reci_chn)
    if settings.padding:
        yield (
            "padding",
            Text(
                "left {left}, right {right}, top {top}, bottom {bottom}, of {value}",
                left=settings.left_padding_size,
                right=settings.right_padding_size,
                top=settings.top_padding_size,
                bottom=settings.bottom_padding_size,
                value=f"{settings.padding_value:g}",
            ),
        )


def _numbers(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


def model_tables(model: OfflineModel, file_bytes: int) -> list[Table]:
    description = model.description
    gears = gears_table(model)
    return [
        _summary(model, file_bytes),
        *([] if gears is None else [gears]),
        *semantics_tables(read_semantics(model.report, description.name)),
        _ports(description),
        *picture_tables(picture_inputs(description)),
        _operators(description),
        *memory_tables(memory_facts(description)),
    ]


def model_json(model: OfflineModel, file_bytes: int) -> dict[str, object]:
    description = model.description
    memory = memory_facts(description)
    return {
        "name": description.name,
        "producer": description.producer,
        "format_version": model.format_version,
        "soc": description.soc,
        "options": description.options,
        "inputs": [_port_json(description, port) for port in description.inputs],
        "outputs": [_port_json(description, port) for port in description.outputs],
        "aipp": [picture_input.as_json() for picture_input in picture_inputs(description)],
        "gears": gears_json(model),
        "operators": dict(sorted(Counter(node.op for node in description.nodes).items())),
        "members": len(description.members),
        "file_bytes": file_bytes,
        "memory": None if memory is None else memory.as_json(),
        "report": dict(model.report),
    }


def _summary(model: OfflineModel, file_bytes: int) -> Table:
    description = model.description
    weights = sum(
        member.size for name, member in description.members.items() if name.startswith("weights/")
    )
    options = ", ".join(f"{key} {value}" for key, value in sorted(description.options.items()))
    kernels = {node.kernel for node in description.nodes if node.kernel is not None}
    written = Text("{producer}, format {format_version}").with_values(
        producer=description.producer, format_version=model.format_version
    )
    rows = (
        ("graph", description.name),
        ("written by", written),
        ("SoC", description.soc),
        ("options", options),
        *newer_rows(read_newer(model.report, description.name)),
        *bias_rows(recorded_biases(model.report)),
        ("nodes", str(len(description.nodes))),
        ("kernel stubs", str(len(kernels))),
        ("weights", format_bytes(weights)),
        ("file", format_bytes(file_bytes)),
    )
    return Table("Offline model of atc-py (not Huawei's format)", ("", ""), rows)


def _ports(description: OmModel) -> Table:
    rows = [
        (spoken(kind), port.name, *_type(description, port))
        for kind, ports in (("input", description.inputs), ("output", description.outputs))
        for port in ports
    ]
    return Table("Inputs and outputs", ("", "name", "dtype", "shape", "format"), tuple(rows))


def _type(description: OmModel, port: OmPort) -> tuple[str, str, str]:
    tensor = description.tensors[port.tensor]
    shape = ",".join("?" if dim is None else str(dim) for dim in tensor.shape)
    return tensor.dtype, shape, tensor.format


def _port_json(description: OmModel, port: OmPort) -> dict[str, object]:
    tensor = description.tensors[port.tensor]
    return {
        "name": port.name,
        "dtype": tensor.dtype,
        "shape": tensor.shape,
        "format": tensor.format,
    }


def _operators(description: OmModel) -> Table:
    counts = Counter((node.op, node.engine) for node in description.nodes)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rows = tuple((op, engine, str(count)) for (op, engine), count in ranked)
    return Table("Operators", ("operator", "engine", "count>"), rows)


def preview_tables(done: AippPreview) -> list[Table]:
    rows = tuple(row for step in done.steps for row in _step_rows(step))
    title = Text("AIPP of {picture} by {config}", picture=done.picture, config=done.config)
    columns = ("step", "dtype", "shape", "channel>", "min>", "max>", "mean>")
    tables = [Table(title, columns, rows)]
    if done.output is not None:
        shape = ",".join(map(str, done.tensor.shape))
        row = (done.tensor.dtype.name, shape, str(done.output))
        tables.append(Table("Tensor", ("dtype", "shape", "file"), (row,)))
    return tables


def _step_rows(step: AippStep) -> Iterator[tuple[str, ...]]:
    for number, channel in enumerate(step.channels):
        name = ("", "", "")
        if not number:
            name = (spoken(step.name), step.dtype, ",".join(map(str, step.shape)))
        values = (channel.least, channel.most, channel.mean)
        yield (*name, str(number), *(f"{value:.6g}" for value in values))
