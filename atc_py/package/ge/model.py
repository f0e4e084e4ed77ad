"""Offline models of Huawei's own atc, opened: the file is mapped, and read as it is asked for."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from typing_extensions import Self

from atc_py.package.foreign import HUAWEI_MAGIC, ZIP_MAGIC, is_model_json
from atc_py.package.ge.container import (
    BUNDLE_MODEL,
    FLOW_SUBMODEL,
    MODEL_DEF,
    MODEL_INOUT_INFO,
    TASK_INFO,
    TBE_KERNELS,
    WEIGHTS_DATA,
    GeHeader,
    GePartition,
    read_header,
    read_partitions,
)
from atc_py.package.ge.definition_json import read_definition
from atc_py.package.ge.graph import GeGraph, GeModelDef, GeOp
from atc_py.package.ge.interface import GEAR_WORDS, GeInterface, read_interface
from atc_py.package.ge.messages import GeAttributes, GeTensor
from atc_py.package.ge.names import GeNameTable
from atc_py.package.ge.om2 import Om2File, read_om2
from atc_py.package.ge.source import ByteSpan, GeSource, span_of
from atc_py.package.ge.tasks import GeKernel, GeTask, read_kernels, read_tasks
from atc_py.system.input_files import map_file, unmap
from atc_py.system.wire import BYTES
from atc_py.text import Text

_DEEPEST = 4
"""Files in files: a bundle of flow models has two levels."""

_BLANK = GeHeader(
    version=0, model_type=0, is_encrypted=False, name="", ir_version=0, model_count=1,
    platform_version="", has_unknown_shapes=False, is_wide=False,
)  # fmt: skip
"""Header of the JSON of a model, which has none."""

INPUT_OPS = frozenset({"Data", "AnnData", "AippData", "RefData"})
CONSTANT_OPS = frozenset({"Const", "Constant"})
OUTPUT_OPS = frozenset({"NetOutput"})

_CASE, _COUNT, _NUMBERS, _TYPE = "Case", "_batch_num", "_pred_value_{}", "mbatch_dynamic_type"
"""The op that runs the graph of a gear, and its attributes [names from GE's source]."""

_TYPES = {1: 2, 2: 3, 3: 4}
"""Numbers of what gears decide in the partition of inputs and outputs, by those of the op."""


class HuaweiModel:
    """A model of a file; its header is that of the part of the file that it stands in."""

    def __init__(
        self,
        source: GeSource,
        header: GeHeader,
        partitions: list[GePartition],
        first: GeNameTable | None = None,
    ) -> None:
        """Make a model of its partitions; a later one of a file has the `first` one's names."""
        self.source, self.header, self.partitions = source, header, partitions
        self._first = first

    def partition(self, kind: int) -> ByteSpan | None:
        """The first partition of a type; None without content, and of an encrypted file."""
        if self.header.is_encrypted:
            return None
        spans = (part.span for part in self.partitions if part.type == kind)
        return next((span for span in spans if span.size), None)

    @cached_property
    def definition(self) -> GeModelDef | None:
        """The description; None where the file has none that can be read."""
        span = self.partition(MODEL_DEF)
        return None if span is None else GeModelDef(self.source, self._names_of(span), span)

    def _names_of(self, span: ByteSpan) -> GeNameTable:
        """The tables of names, which stand in attributes of the model whose own names are plain."""
        plain = GeNameTable(self.source, (), (), ())
        attributes = GeModelDef(self.source, self._first or plain, span).attributes
        names = attributes.texts("attr_name_enum")
        if self._first is not None:
            names = tuple(self._first.resolve(name.encode())[0] for name in names)
        uses_text = attributes.get("attrs_use_string_value")
        flags = [bool(flag) for flag in uses_text] if isinstance(uses_text, tuple) else []
        return GeNameTable(self.source, names, flags, attributes.texts("attr_value_enum"))

    @property
    def attributes(self) -> GeAttributes:
        """The attributes of the model; none where it has no description."""
        if self.definition is None:
            return GeAttributes(self.source, GeNameTable(self.source, (), (), ()), [])
        return self.definition.attributes

    @cached_property
    def graphs(self) -> tuple[GeGraph, ...]:
        """The main graph, then those that ops run; none where the model has no description."""
        return () if self.definition is None else self.definition.graphs

    def run_graphs(self) -> tuple[GeGraph, ...]:
        """The main graph and those that its ops run, in the order in which they are named.

        Raises:
            AtcError: BAD_HUAWEI_MODEL where a graph runs itself, or one is not there.
        """
        by_name: dict[str, GeGraph] = {}
        for graph in self.graphs:
            by_name.setdefault(graph.name, graph)
        order: dict[str, GeGraph] = {}
        if self.graphs:
            self._run_into(self.graphs[0], by_name, order)
        return tuple(order.values())

    def _run_into(
        self, main: GeGraph, by_name: Mapping[str, GeGraph], order: dict[str, GeGraph]
    ) -> None:
        """Collect graphs depth first, without recursion: hostile files nest them deep."""
        open_: dict[str, Iterator[str]] = {main.name: _named_graphs(main)}
        order[main.name] = main
        while open_:
            name, rest = next(reversed(open_.items()))
            inner = next(rest, None)
            if inner is None:
                del open_[name]
            elif inner in open_:
                raise self.source.fault(
                    Text("graph {name} calls itself", name=repr(inner)), "MODEL_DEF"
                )
            elif inner not in by_name:
                raise self.source.fault(
                    Text("graph {name} does not exist", name=repr(inner)), "MODEL_DEF"
                )
            elif inner not in order:
                order[inner] = by_name[inner]
                open_[inner] = _named_graphs(by_name[inner])

    @property
    def ops(self) -> tuple[GeOp, ...]:
        return self.graphs[0].ops if self.graphs else ()

    @property
    def gear_case(self) -> GeOp | None:
        """The op that runs the graph of a gear; None of a model without gears."""
        return next((op for op in self.ops if op.type == _CASE and _COUNT in op.attributes), None)

    def gear_numbers(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """The numbers of each gear by what they choose, as the op has them or the partition; or none."""
        stated = {} if self.interface is None else self.interface.gears
        case = self.gear_case
        if case is None:
            return stated
        numbers = tuple(
            case.attributes.numbers(_NUMBERS.format(at)) for at in range(len(case.subgraphs))
        )
        if not numbers or not all(numbers):
            return stated
        word = GEAR_WORDS.get(_TYPES.get(case.attributes.number(_TYPE), 0))
        return {word or next(iter(stated), GEAR_WORDS[4]): numbers}

    @cached_property
    def tasks(self) -> tuple[GeTask, ...]:
        """The tasks in order; none where the file has none that can be read."""
        span = self.partition(TASK_INFO)
        return () if span is None else tuple(read_tasks(self.source, span))

    @cached_property
    def kernels(self) -> tuple[GeKernel, ...]:
        span = self.partition(TBE_KERNELS)
        return () if span is None else tuple(read_kernels(self.source, span))

    @cached_property
    def interface(self) -> GeInterface | None:
        """Inputs, outputs and gears as a partition states them; None before CANN 7.0."""
        span = self.partition(MODEL_INOUT_INFO)
        return None if span is None else read_interface(self.source, span)

    @cached_property
    def launches(self) -> tuple[GeOp, ...]:
        """The ops of all graphs that the device runs, in the order of the tasks.

        Where the file has no task that names an op, those that compute, in the order of graphs.
        """
        ops = {op.id: op for graph in self.run_graphs() for op in graph.ops}
        numbers = dict.fromkeys(task.op_index for task in self.tasks)
        launched = [ops[number] for number in numbers if number is not None and number in ops]
        apart = INPUT_OPS | CONSTANT_OPS | OUTPUT_OPS
        computing = (op for op in ops.values() if op.type not in apart)
        return tuple(launched or (op for op in computing if not op.attributes.flag("_no_task")))

    def constant(self, op: GeOp) -> tuple[GeTensor, ByteSpan] | None:
        """The tensor of a constant and its data in the file; None of an op that has none.

        The data are in storage format, as `desc.layout` and `desc.dims` of the tensor say.

        Raises:
            AtcError: BAD_HUAWEI_MODEL for data outside of the weights.
        """
        tensor = op.attributes.get("value")
        if not isinstance(tensor, GeTensor):
            return None
        if tensor.inline is not None:
            return tensor, tensor.inline
        weights = self.partition(WEIGHTS_DATA)
        offset, size = tensor.desc.data_offset, tensor.desc.weight_size
        room = 0 if weights is None else weights.size
        if weights is None or not 0 <= offset <= offset + size <= room:
            raise self.source.fault(
                Text(
                    "constant {name} has bytes {start} to {stop} of the weights, which have {room}",
                    name=repr(op.name),
                    start=offset,
                    stop=offset + size,
                    room=room,
                ),
                "WEIGHTS_DATA",
            )
        return tensor, ByteSpan(weights.start + offset, weights.start + offset + size)

    def data(self, span: ByteSpan) -> memoryview:
        """Bytes of the file, not copied."""
        return memoryview(self.source.data)[span.start : span.end]


class HuaweiFile:
    """A file of Huawei's atc; made by `open_huawei`.

    Attributes:
        header: of the container; None of an om2 archive.
        models: those of the file itself.
        embedded: files inside of it, with what names them: parts of bundles and of flow models.
        om2: the archive; None of other files.
        is_json: whether it is the JSON of mode 1, which has neither weights nor tasks.
    """

    def __init__(
        self,
        path: Path,
        source: GeSource,
        span: ByteSpan,
        depth: int = 0,
        *,
        definition: GeHeader | None = None,
    ) -> None:
        """Read the containers at `span`; with `definition`, its header, the message of a model."""
        self.path, self.nbytes, self._source = path, span.size, source
        self.header: GeHeader | None = definition
        self.models: list[HuaweiModel] = []
        self.embedded: list[tuple[str, HuaweiFile]] = []
        self.om2: Om2File | None = None
        self.is_json = definition is not None
        if definition is not None:
            self.models.append(HuaweiModel(source, definition, [GePartition(MODEL_DEF, span)]))
            return
        if source.data[span.start : span.start + len(ZIP_MAGIC)] == ZIP_MAGIC:
            self.om2 = read_om2(source)
            if self.om2 is None:
                raise source.fault(Text("it is a ZIP archive of another kind"))
            return
        header = self.header = read_header(source, *span)
        for partitions in read_partitions(source, header, *span):
            first = self.models[0].definition if self.models else None
            names = None if first is None else first.names
            self.models.append(HuaweiModel(source, header, partitions, names))
        if not header.is_encrypted:
            self._read_embedded(depth)

    @property
    def kind(self) -> str:
        if self.is_json:
            return "JSON of a model"
        return "om2 archive" if self.header is None else self.header.kind

    def all_models(self) -> list[HuaweiModel]:
        inner = (model for _, file in self.embedded for model in file.all_models())
        return [*self.models, *inner]

    def close(self) -> None:
        """Let the file go; while views of its bytes are alive, they keep it mapped."""
        unmap(self._source.data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_embedded(self, depth: int) -> None:
        parts = [part for model in self.models for part in model.partitions]
        for part in parts:
            if part.type == BUNDLE_MODEL:
                name, span = "", part.span
            elif part.type == FLOW_SUBMODEL:
                name, span = self._flow_submodel(part.span)
            else:
                continue
            if (
                self._source.data[span.start : span.start + len(HUAWEI_MAGIC)] != HUAWEI_MAGIC
                or not span.size
            ):
                continue
            if depth >= _DEEPEST:
                raise self._source.fault(
                    Text("it has files within files, more than {most} levels deep", most=_DEEPEST),
                    part.name,
                )
            self.embedded.append((name, HuaweiFile(self.path, self._source, span, depth + 1)))

    def _flow_submodel(self, span: ByteSpan) -> tuple[str, ByteSpan]:
        """Name and file of a submodel, which its message has as a text and as bytes [inferred]."""
        name, inner = "", ByteSpan(span.end, span.end)
        for field in self._source.fields(span):
            if field.wire == BYTES and field.number == 1:
                name = self._source.text(field)
            elif (
                field.wire == BYTES
                and self._source.data[field.body : field.body + 4] == HUAWEI_MAGIC
            ):
                inner = span_of(field)
        return name, inner


def open_huawei(path: Path) -> HuaweiFile:
    """Open a file of Huawei's atc, or the JSON of one.

    Raises:
        AtcError: FILE_NOT_FOUND or FILE_UNREADABLE; BAD_HUAWEI_MODEL, also while it is read;
            BAD_MODEL_JSON.
    """
    if is_model_json(path):
        definition = read_definition(path)
        span = ByteSpan(0, len(definition))
        return HuaweiFile(path, GeSource(definition, str(path)), span, definition=_BLANK)
    data = map_file(path)
    source = GeSource(data, str(path))
    try:
        return HuaweiFile(path, source, ByteSpan(0, len(data)))
    except BaseException:
        unmap(data)
        raise


def _named_graphs(graph: GeGraph) -> Iterator[str]:
    """The graphs that the ops of one run."""
    return (name for op in graph.ops for name in op.subgraphs)
