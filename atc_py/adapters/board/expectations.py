"""What a kit expects: data of the runs, outputs of the original, outputs and layers of the simulator."""

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.adapters.board.layout import (
    EXPECTED,
    INPUTS,
    LAYERS,
    MODEL,
    ExpectedLayer,
    ExpectedLayers,
    KitSample,
    KitTensor,
    KitVariant,
)
from atc_py.compare.comparison_session import ComparisonSession, GivenSamples
from atc_py.compare.compilation import Compilation
from atc_py.compare.fitting_samples import NoFittingSampleError
from atc_py.compare.gears import fitting_samples, refuse_if_none_fits
from atc_py.compare.matching import match
from atc_py.compare.model import open_compiled
from atc_py.compare.reference import ReferenceModel
from atc_py.device.sim.execution.session import SimModel
from atc_py.diag import BAD_OPTION, Diagnostic, Place
from atc_py.options.compile_options import CompileOptions
from atc_py.options.gears import GearKind, Gears
from atc_py.package.reader import OfflineModel
from atc_py.package.schema import OmModel
from atc_py.pipeline.running.model import Port, ports_of
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Arrays = dict[str, NDArray[Any]]
Stage = Callable[[str], None] | None


_LEAST_ROOM = 64 << 10
"""Bytes that arrays of layers may take in any kit; in one of a large model they take a tenth of that."""


class Draws(NamedTuple):
    """The data of the runs: arrays or files that are given, samples or their number, a seed."""

    inputs: Mapping[str, NDArray[np.generic]] | Iterable[str]
    samples: GivenSamples
    seed: int


class _Run(NamedTuple):
    """One run: its record, and what it is fed."""

    sample: KitSample
    feeds: Arrays


class Expected(NamedTuple):
    """Record of what was written: the ports of the .om, the runs, and texts about odd data."""

    inputs: tuple[KitTensor, ...]
    outputs: tuple[KitTensor, ...]
    samples: tuple[KitSample, ...]
    warnings: tuple[Diagnostic, ...]


class Expectations:
    """Writer of all files of a kit that come from runs."""

    def __init__(self, kit: Path, original: Path | None, room: int | None) -> None:
        """Prepare to write to a folder; compiled models and values are beside it.

        `original` is the file that runs as the original, None for the kit's own; `room` the bytes
        that arrays of layers may take, None for a tenth of the model's, inputs and outputs included.
        """
        self._kit, self._work, self._original = kit, kit.parent, original
        size = sum(file.stat().st_size for file in kit.glob(f"{MODEL}*"))
        self._room = max(_LEAST_ROOM, size // 10) if room is None else room
        self._is_shared = room is None
        self._warnings: tuple[Diagnostic, ...] = ()
        self._gears: Gears | None = None

    def write(
        self,
        model: Path,
        variants: Sequence[tuple[KitVariant, CompileOptions]],
        draws: Draws,
        on_stage: Stage,
    ) -> Expected:
        """Compile each variant for each gear, run all samples, and write what is expected.

        Raises:
            AtcError: what compiling and running raise; BAD_OPTION for dynamic AIPP.
        """
        gears = self._gears = variants[0][1].gears
        runs: list[_Run] = []
        ports: list[tuple[tuple[Port, ...], tuple[Port, ...]]] = []
        refusals: list[Sequence[Diagnostic]] = []
        if gears is not None:
            draws = draws._replace(samples=fitting_samples(draws.samples, gears))
        for gear in [None] if gears is None else range(len(gears.gears)):
            compilations = [
                (variant, Compilation(model, at_gear(options, gear), self._original))
                for variant, options in variants
            ]
            try:
                own, both = self._of_gear(compilations, gear, draws, on_stage)
            except NoFittingSampleError as error:
                refusals.append(error.diagnostics)
                continue
            refusals.append(())
            runs += own
            ports.append(both)
        refuse_if_none_fits(refusals)
        inputs, outputs = (tuple(map(_joined, zip(*each))) for each in zip(*ports))  # noqa: B905
        return Expected(inputs, outputs, tuple(run.sample for run in runs), self._warnings)

    def _of_gear(
        self,
        compilations: Sequence[tuple[KitVariant, Compilation]],
        gear: int | None,
        draws: Draws,
        on_stage: Stage,
    ) -> tuple[list[_Run], tuple[tuple[Port, ...], tuple[Port, ...]]]:
        runs: list[_Run] = []
        both: tuple[tuple[Port, ...], tuple[Port, ...]] = (), ()
        reference: ReferenceModel | None = None
        for variant, compilation in compilations:
            folder = self._work / f"{variant.name}{'' if gear is None else gear}"
            folder.mkdir()
            with open_compiled(compilation, folder, on_stage) as package:
                description = package.description
                if reference is None:
                    _refuse_settings(description)
                    session = ComparisonSession(
                        compilation,
                        package,
                        folder,
                        (draws.inputs, None),
                        (draws.samples, draws.seed),
                    )
                    self._warnings += session.warnings
                    reference = session.reference
                    runs = list(self._sampled(session, description, gear))
                    both = (
                        ports_of(description, description.inputs),
                        ports_of(description, description.outputs),
                    )
                for run in runs:
                    self._simulate(variant, package, reference, run)
        return runs, both

    def _sampled(
        self,
        session: ComparisonSession,
        description: OmModel,
        gear: int | None,
    ) -> Iterator[_Run]:
        """Write the data of each run and the outputs of the original; yield the runs."""
        labels = [label for label, _ in session.source]
        for at, (feeds, original) in enumerate(session.judged()):
            name = f"s{at}" if gear is None else f"g{gear}-s{at}"
            arrays = {port.name: np.asarray(feeds[port.name]) for port in description.inputs}
            files = [self._save(f"{INPUTS}/{name}/{i}", a) for i, a in enumerate(arrays.values())]
            for i, port in enumerate(description.outputs):
                value = original.value(port.name)
                if value is not None:
                    self._save(f"{EXPECTED}/original/{name}/{i}", value)
            outputs = (description.tensors[port.tensor].shape for port in description.outputs)
            sample = KitSample(
                name=name,
                inputs=tuple(files),
                outputs=tuple(tuple(dim or 0 for dim in shape) for shape in outputs),
                source=str(labels[at]),
            )
            if self._gears is not None and gear is not None:
                dims = tuple(dim for array in arrays.values() for dim in array.shape)
                own = dims if self._gears.kind is GearKind.DIMS else ()
                sample = replace(sample, gear=self._gears.gears[gear], dims=own)
            yield _Run(sample, arrays)

    def _simulate(
        self, variant: KitVariant, package: OfflineModel, reference: ReferenceModel, run: _Run
    ) -> None:
        """Run one sample on the simulator; write its outputs and layers."""
        folder = f"{EXPECTED}/{variant.name}/{run.sample.name}"
        layers = _Layers(package.description, reference, self._kit / folder)
        model = SimModel(package, merged=False)
        try:
            outputs = model.run(run.feeds, lambda at, found: self._layer(layers, at, found))
        finally:
            model.close()
        for i, port in enumerate(package.description.outputs):
            self._save(f"{folder}/{i}", outputs[port.name])
        record = ExpectedLayers(variant.name, run.sample.name, tuple(layers.found))
        (self._kit / folder / LAYERS).write_bytes(msgspec.json.encode(record) + b"\n")

    def _layer(self, layers: "_Layers", at: int, found: NDArray[Any]) -> None:
        self._room -= layers.add(at, found, self._room)

    def _save(self, path: str, array: NDArray[Any]) -> str:
        """Write an array; return its path in the kit."""
        file = self._kit / f"{path}.npy"
        file.parent.mkdir(parents=True, exist_ok=True)
        data = npy_bytes(array)
        file.write_bytes(data)
        if self._is_shared:
            self._room = max(self._room - len(data), min(self._room, _LEAST_ROOM))
        return f"{path}.npy"


class _Layers:
    """Records of the results of one run, in their order."""

    def __init__(self, description: OmModel, reference: ReferenceModel, folder: Path) -> None:
        matching = match(description, reference.nodes, reference.inputs)
        self._description, self._values = description, matching.values
        self._makers = {tensor: node for node in description.nodes for tensor in node.outputs}
        self._folder = folder
        self.found: list[ExpectedLayer] = []

    def add(self, tensor: int, carrier: NDArray[Any], room: int) -> int:
        """Add a result; return the bytes of its array if that is written, which `room` allows."""
        dtype, node = DType(self._description.tensors[tensor].dtype), self._makers[tensor]
        array = np.ascontiguousarray(carrier.astype(dtype.numpy))
        layer = ExpectedLayer(
            node=node.name,
            op=node.op,
            value=self._values.get(tensor, ""),
            origins=tuple(dict.fromkeys(origin.name for origin in node.origins)),
            dtype=dtype.value,
            shape=array.shape,
            sha256=hashlib.sha256(array.tobytes()).hexdigest(),
        )
        layer = _with_figures(layer, array)
        data = npy_bytes(array) if array.nbytes <= room else b""
        if data and len(data) <= room:
            file = f"layers/{len(self.found)}.npy"
            (self._folder / "layers").mkdir(parents=True, exist_ok=True)
            (self._folder / file).write_bytes(data)
            layer = replace(layer, file=file)
        self.found.append(layer)
        return len(data) if layer.file else 0


def _with_figures(layer: ExpectedLayer, array: NDArray[Any]) -> ExpectedLayer:
    if not array.size or array.dtype.kind == "c":
        return layer
    numbers = array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    odd = numbers.size - finite.size
    if not finite.size:
        return replace(layer, odd=odd)
    return replace(
        layer,
        least=float(finite.min()),
        largest=float(finite.max()),
        mean=float(finite.mean()),
        rms=float(np.sqrt(np.square(finite).mean())),
        odd=odd,
    )


def npy_bytes(array: NDArray[Any]) -> bytes:
    """The array as an .npy file; dtypes that numpy alone does not have become float32 or int8."""
    plain = np.ascontiguousarray(array)
    if plain.dtype.isbuiltin != 1:
        is_small = np.dtype(plain.dtype).name.lstrip("u").startswith("int")
        plain = plain.astype(np.int8 if is_small else np.float32)
    file = io.BytesIO()
    np.lib.format.write_array(file, plain.reshape(array.shape), version=(1, 0), allow_pickle=False)
    return file.getvalue()


def at_gear(options: CompileOptions, gear: int | None) -> CompileOptions:
    """The options with the dims of a gear; as they are without one."""
    if gear is None or options.gears is None:
        return options
    return replace(options, gears=None, input_shapes=options.gears.shapes_of(gear))


def _joined(ports: Sequence[Port]) -> KitTensor:
    """A port of all gears; dims that differ are None."""
    shapes = zip(*(port.shape for port in ports), strict=True)
    dims = tuple(each[0] if len(set(each)) == 1 else None for each in shapes)
    return KitTensor(ports[0].name, ports[0].dtype.value, dims)


def _refuse_settings(description: OmModel) -> None:
    if any(port.partial for port in ports_of(description, description.inputs)):
        raise BAD_OPTION.error(
            Text("a kit cannot hold AIPP settings per run: its AIPP must be static"),
            place=Place(field="--aipp"),
            help=Text("give a configuration with aipp_mode: static"),
        )
