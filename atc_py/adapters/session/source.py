"""Models of a session: an ONNX file or its bytes, compiled for shapes, or an offline model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from atc_py.adapters.session.compiled import Built
from atc_py.adapters.session.errors import (
    INVALID_ARGUMENT,
    NOT_IMPLEMENTED,
    load_error,
    session_error,
)
from atc_py.adapters.session.values import type_text
from atc_py.diag import FILE_UNREADABLE, SESSION_UNSUPPORTED, AtcError, Diagnostic, Place
from atc_py.onnx_graph.reading.interface import (
    UNDEFINED,
    DeclaredDims,
    DeclaredValue,
    FileMetadata,
    ModelInterface,
    interface_of,
)
from atc_py.options.compile_options import CompileOptions
from atc_py.options.gears import MOST_GEARS, Gears
from atc_py.pipeline.running.gears import Array, Fitted, fitted
from atc_py.pipeline.running.model import Model
from atc_py.system import structs
from atc_py.system.temp_folders import work_folder
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims, Shape
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.onnx_graph.reading.onnx_file import OnnxFile
    from atc_py.package.schema import OmModel


_BYTES = Text("model.onnx in memory")
"""Name of a model that came as bytes, in messages."""

_ORT_FORMAT = b"ORTM"
"""Fourth to eighth byte of a model in onnxruntime's own format."""


class KnownType(NamedTuple):
    """Type of an output as far as it is known: element type and dims."""

    dtype: DType | None
    dims: Dims | None


@dataclass
class OnnxSource:
    """An ONNX model that was read once."""

    file: OnnxFile  # the model; its weights stay where they are
    options: CompileOptions
    device: str
    # size and time of the files when they were read
    stamps: Mapping[Path, tuple[int, int]] = field(default_factory=dict)
    # dims of inputs that the program chose, by name
    dims: Mapping[str, DeclaredDims] = field(default_factory=dict)

    @cached_property
    def gears(self) -> Gears | None:
        """The shapes that it compiles for; None for those that are fed."""
        auto = self.options.auto_gears
        if auto is None:
            return None
        from atc_py.pipeline.auto_gears import gears_by_name
        from atc_py.pipeline.padding_trial import with_padding

        try:
            return with_padding(self.file, gears_by_name(self.file, auto, MOST_GEARS))
        except AtcError as error:
            raise load_error(error) from error

    def padding_warnings(self) -> tuple[Diagnostic, ...]:
        """The warning that data between gears cannot be padded."""
        from atc_py.pipeline.padding_trial import padding_warnings

        return () if self.gears is None else padding_warnings(self.gears, self.file)

    @cached_property
    def declared(self) -> ModelInterface:
        """Declarations of the file."""
        return interface_of(self.file.proto, Place(file=str(self.file.path)))

    @property
    def interface(self) -> ModelInterface:
        """Declarations of the file, with the dims that were chosen."""
        found = self.declared
        chosen = {**self.dims, **self.options.input_shapes}
        inputs = (replace(v, dims=chosen.get(v.name, v.dims)) for v in found.inputs)
        return replace(found, inputs=tuple(inputs))

    def choose(self, dims: Mapping[str, DeclaredDims]) -> None:
        """Choose dims of inputs, which may leave some open."""
        whole = {
            name: tuple(dim for dim in each if isinstance(dim, int))
            for name, each in dims.items()
            if all(isinstance(dim, int) for dim in each)
        }
        self.dims = dims
        shapes = {**whole, **self.options.input_shapes}
        self.options = structs.replace(self.options, input_shapes=shapes)

    @property
    def bound(self) -> Mapping[str, float]:
        """The values that rules bind inputs to, by name."""
        return {} if self.options.fix is None else self.options.fix.bind

    def build(self, shapes: Mapping[str, Shape]) -> Built:
        """Compile for shapes of the inputs whose dims are open; nothing stays on disk.

        Raises:
            AtcError: with all findings.
        """
        from atc_py.pipeline.compile import compile_model

        self._require_unchanged()
        options = structs.replace(
            self.options, input_shapes={**self.options.input_shapes, **shapes}
        )
        with work_folder() as folder:
            target = folder / "model.om"
            done = compile_model(self.file.path, target, options, read=lambda _path: self.file)
            model = Model(target, self.device)
        nbytes = done.weights_out if done.memory is None else done.memory.total
        declared = {each.name: each.type for each in self.declared.inputs}
        casts = {
            port.name: port.dtype.numpy
            for port in model.inputs
            if type_text(port.dtype) != declared.get(port.name)
        }
        return Built(model, nbytes, done.warnings, casts)

    def known_outputs(self) -> Mapping[str, KnownType]:
        """Types of outputs that hold whatever is chosen for open dims.

        Raises:
            AtcError: with all findings, where no dims of the inputs compile.
        """
        from atc_py.pipeline.open_model_report import report_open_model

        outputs = report_open_model(self.file, self.options).outputs
        return {port.name: KnownType(port.dtype, port.dims) for port in outputs}

    def _require_unchanged(self) -> None:
        """Refuse files that were written again: their weights are not those that were read.

        One that was removed is still there for the session.
        """
        for path, stamp in self.stamps.items():
            if _stamp(path) not in {stamp, None}:
                raise FILE_UNREADABLE.error(
                    Text("{path} has changed since the session was made", path=path),
                    place=Place(file=str(path)),
                    help=Text("make another session"),
                )


@dataclass
class OfflineSource:
    """An offline model."""

    model: Model

    @property
    def gears(self) -> Gears | None:
        """The shapes that it was converted for; None for one or for ranges."""
        return self.model.gears

    @cached_property
    def interface(self) -> ModelInterface:
        """Ports of the package, and what it says of itself."""
        return ModelInterface(
            inputs=tuple(
                DeclaredValue(each.name, type_text(each.dtype), each.shape)
                for each in self.model.inputs
            ),
            outputs=tuple(
                DeclaredValue(each.name, type_text(each.dtype), each.shape)
                for each in self.model.outputs
            ),
            overridable=(),
            metadata=_package_metadata(self.model.description),
        )

    @property
    def bound(self) -> Mapping[str, float]:
        """No values: such inputs are not in the package."""
        return {}

    def build(self, shapes: Mapping[str, Shape]) -> Built:
        """The model, or that of the gear with these shapes; nothing is compiled."""
        from atc_py.results.memory_facts import memory_facts

        gears = self.model.gears
        model = self.model
        if gears is not None:
            model = model.separate_gear(gears.of_shapes(shapes))
        elif shapes:
            model = model.separate()
        facts = memory_facts(model.description)
        return Built(model, 0 if facts is None else facts.total)

    def known_outputs(self) -> Mapping[str, KnownType]:
        """The types of outputs."""
        return types_of(self.model)


SessionSource: TypeAlias = OnnxSource | OfflineSource
"""A model from which sessions make models on a device."""


def fitted_feeds(gears: Gears, feeds: dict[str, Array]) -> Fitted:
    """Data for what the model is compiled for: of a size between gears they are padded.

    Raises:
        AtcError: as `fitted`, also onnxruntime's InvalidArgument.
    """
    shapes = {name: tuple(array.shape) for name, array in feeds.items()}
    try:
        return fitted(gears, feeds, shapes)
    except AtcError as error:
        raise session_error(INVALID_ARGUMENT, *error.diagnostics) from error


def source_of(
    model: str | os.PathLike[str] | bytes,
    options: CompileOptions,
    device: str,
    weights_folder: str | None = None,
) -> SessionSource:
    """A model, or its bytes, as a source; their weights are in that folder, or the current one.

    Raises:
        AtcError: the file cannot be read, or is no model of a kind that sessions run.
    """
    from atc_py.onnx_graph.reading.read import read_model
    from atc_py.package.foreign import is_offline

    if isinstance(model, bytes):
        _refuse_ort_format(model[:8], _BYTES)
        if model.startswith(b"PK"):
            return OfflineSource(_stored_model(model, device))
        name = Path(weights_folder or "") / _BYTES
        return _onnx_source(read_model(name, data=model), options, device)
    path = Path(model)
    if is_offline(path):
        return OfflineSource(Model(path, device))
    _refuse_ort_format(_head(path), str(path))
    return _onnx_source(read_model(path), options, device, path)


def _onnx_source(file: OnnxFile, options: CompileOptions, device: str, *paths: Path) -> OnnxSource:
    stamps = {path: _stamp(path) for path in (*paths, *file.tensors.weight_files)}
    known = {path: stamp for path, stamp in stamps.items() if stamp is not None}
    return OnnxSource(file, options, device, known)


def types_of(model: Model) -> dict[str, KnownType]:
    """The types of a model's outputs."""
    return {each.name: KnownType(each.dtype, each.shape) for each in model.outputs}


def with_known_types(
    interface: ModelInterface, known: Mapping[str, KnownType]
) -> tuple[DeclaredValue, ...]:
    """The outputs, completed with what the compiler knows of them."""
    return tuple(_completed(each, known.get(each.name)) for each in interface.outputs)


def _completed(stated: DeclaredValue, known: KnownType | None) -> DeclaredValue:
    """An output with what is known where the file does not state it."""
    if known is None:
        return stated
    type_ = stated.type
    if type_ == UNDEFINED and known.dtype is not None:
        type_ = type_text(known.dtype)
    return replace(stated, type=type_, dims=_joined_dims(stated.dims, known.dims))


def _joined_dims(stated: DeclaredDims | None, known: Dims | None) -> DeclaredDims | None:
    if stated is None:
        return known
    if known is None or len(stated) != len(known):
        return stated
    pairs = zip(stated, known, strict=True)
    return tuple(said if isinstance(said, int) or dim is None else dim for said, dim in pairs)


def _stored_model(data: bytes, device: str) -> Model:
    """The offline model that has these bytes; it stays mapped when its file is gone."""
    with work_folder() as folder:
        path = folder / "model.om"
        path.write_bytes(data)
        return Model(path, device)


def _package_metadata(description: OmModel) -> FileMetadata:
    entries = {"soc": description.soc, **description.options}
    return FileMetadata(
        producer_name=description.producer,
        graph_name=description.name,
        custom_metadata_map=tuple(entries.items()),
    )


def _refuse_ort_format(head: bytes, name: str) -> None:
    if head[4:8] == _ORT_FORMAT:
        found = SESSION_UNSUPPORTED.diagnostic(
            Text("{name} is a model in onnxruntime's own format", name=name),
            place=Place(file=name),
            help=Text("give the ONNX model that it was made from"),
        )
        raise session_error(NOT_IMPLEMENTED, found)


def _head(path: Path) -> bytes:
    """The first bytes of a regular file; readers say what is wrong with another."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(8)
    except (OSError, ValueError):
        return b""


def _stamp(path: Path) -> tuple[int, int] | None:
    """Size and time of a file; None where the system does not tell."""
    try:
        facts = path.stat()
    except (OSError, ValueError):
        return None
    return facts.st_size, facts.st_mtime_ns
