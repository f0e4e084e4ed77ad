"""An offline model that is loaded on a device, and its ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from atc_py.diag import BAD_RUN_INPUT, Diagnostic, Place
from atc_py.options.gears import SHAPE_DATA, Gears
from atc_py.options.ranges import DimRange, format_ranges, outside
from atc_py.pipeline.running.gears import gear_of_feeds
from atc_py.results.cann_nodes import CannSemantics, read_semantics
from atc_py.system.input_files import guarded_run
from atc_py.system.structs import Result, replace
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims, format_shape
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.device.backend import DeviceBackend, NodeProfile
    from atc_py.package.reader import OfflineModel
    from atc_py.package.schema import OmModel, OmPort


class Port(Result, frozen=True):
    """A model input or output: its name, element type and shape.

    A dim of an output is None where only the run knows it, and one of any port where the gear
    decides; `gears` has the shapes in each gear then. One of an input is None where the run decides
    it: `ranges` has the numbers that each dim may have. A `hidden` one takes data under its name
    alone. `partial` says that data may have fewer bytes than the shape: pictures whose settings come
    with a run.
    """

    name: str
    dtype: DType
    shape: Dims
    gears: tuple[Dims, ...] = ()
    hidden: bool = False
    ranges: tuple[DimRange, ...] = ()
    partial: bool = False


@final
class Model:
    """An offline model on a device; use it in a `with` block or call `close`.

    One with gears loads each gear when it first runs.

    Attributes:
        inputs: what `run` takes.
        outputs: what `run` returns.
        gears: the lists of shapes that it runs with; None where it has one shape.
        shape_data: the input that ATC appends to a model with gears, which may be fed and need not.
    """

    def __init__(
        self,
        path: Path,
        device: str = "sim",
        storage: str = "logical",
        timeout: float | None = None,
        package: OfflineModel | None = None,
        origin: tuple[Path | None, str | None] = (None, None),
    ) -> None:
        """Open an offline model.

        Args:
            path: the file.
            device: name of the back end.
            storage: how the device keeps tensors.
            timeout: seconds that each of its answers may take, None in this process.
            package: one gear of a file that is open already, and that somebody else closes.
            origin: of a model of Huawei's atc the ONNX file that it was made of, and its name.
        """
        from atc_py.device.backend import load_stored
        from atc_py.device.supervised import backend_for
        from atc_py.pipeline.huawei import open_offline

        self._choice = device, storage, timeout
        self._inherited: list[DeviceBackend] = []
        self._own = package is None
        self._loaded: dict[int, Model] = {}
        self._loading = Lock()
        self._last: Model | None = None
        self._backend = backend_for(device, timeout)
        self._package = open_offline(path, *origin) if package is None else package
        self.gears: Gears | None = self._package.gears if package is None else None
        self.shape_data: Port | None = None
        if self.gears is not None:
            count = len(self.gears.gears[0])
            self.shape_data = Port(SHAPE_DATA, DType.INT32, (count,), hidden=True)
            self.inputs, self.outputs = _joined_ports(self._package, self.gears)
            return
        try:
            self._backend.open()
            self._handle = load_stored(self._backend, self._package, storage)
        except BaseException:
            self.close()
            raise
        description, self._ranges = self._package.description, self._package.ranges
        self.inputs = tuple(
            replace(port, ranges=self._ranges.get(port.name, ()))
            for port in ports_of(description, description.inputs)
        )
        self.outputs = ports_of(description, description.outputs)

    @property
    def description(self) -> OmModel:
        """The offline model's own description."""
        return self._package.description

    @property
    def takes_settings(self) -> bool:
        """True if an input holds the settings of AIPP for a run, and another bytes of pictures."""
        return any(port.partial for port in self.inputs)

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """Findings about a model of Huawei's atc: what was assumed, and left out."""
        return self._package.findings

    @property
    def semantics(self) -> CannSemantics | None:
        """The nodes that compute what a release of CANN makes of them, None without any."""
        return read_semantics(self._package.report, str(self._package.path))

    @guarded_run()
    def run(
        self, inputs: Mapping[str, npt.NDArray[np.generic]], gear: int | None = None
    ) -> dict[str, npt.NDArray[np.generic]]:
        """Run once; arrays must have the dtypes and shapes of `inputs`, or of one gear.

        Args:
            inputs: arrays by name; of a model with gears perhaps `shape_data`, too.
            gear: position of the gear; None to go by what is fed.

        Raises:
            AtcError: an input is missing or does not fit, or the device failed; NO_SUCH_GEAR where
                what is fed fits no gear, SIZE_BETWEEN_GEARS where it cannot be padded.

        Returns:
            The outputs by name, with the dtypes and shapes of `outputs`; inputs are not changed.

        Example:
            >>> import atc_py, numpy as np
            >>> done = atc_py.convert("model.onnx", "model.om")
            >>> with atc_py.load("model.om") as model:
            ...     outputs = model.run({"x": np.zeros((1, 3, 8, 8), np.float32)})
            >>> outputs["y"].shape, float(outputs["y"].max())
            ((1, 4, 8, 8), 0.0)
            >>> with atc_py.load("model.om") as model:
            ...     model.run({"x": np.zeros((1, 3, 8), np.float32)})
            Traceback (most recent call last):
            atc_py.diag.diagnostic.AtcError: ATC1007: ...
        """
        given: object = inputs
        if not isinstance(given, Mapping):
            kind, names = type(given).__name__, ", ".join(port.name for port in self.inputs)
            raise BAD_RUN_INPUT.error(
                Text("inputs must be a mapping of names to arrays, found {name}", name=kind),
                help=Text("the model's inputs are {inputs}", inputs=names),
            )
        if self.takes_settings:
            inputs = self._filled(inputs, gear)
        if self.gears is None:
            if gear is not None:
                from atc_py.options.named_gear import NamedGear

                NamedGear("gear", None, (gear,)).position_in(None)
            if self._ranges:
                self._check_ranges(inputs)
            return self._backend.run(self._handle, inputs)
        fitting = gear_of_feeds(self.gears, inputs, gear)
        self._last = self.at_gear(fitting.gear)
        return fitting.cut(self._last.run(fitting.feeds))

    def _filled(
        self, inputs: Mapping[str, npt.NDArray[np.generic]], gear: int | None
    ) -> Mapping[str, npt.NDArray[np.generic]]:
        """Feeds whose pictures fill their inputs, with the settings of a gear that is named."""
        from atc_py.pipeline.running.pictures import filled, settings_of_gear

        if self.gears is not None and (gear is not None or SHAPE_DATA in inputs):
            position = gear_of_feeds(self.gears, inputs, gear).gear
            inputs = settings_of_gear(self.at_gear(position).description, inputs)
        return filled(self.description, inputs)

    def _check_ranges(self, inputs: Mapping[str, npt.NDArray[np.generic]]) -> None:
        for name, array in inputs.items():
            shape = tuple(getattr(array, "shape", ()))
            dims = self._ranges.get(name, ())
            if len(shape) == len(dims) and outside(self._ranges, name, shape):
                raise BAD_RUN_INPUT.error(
                    Text(
                        "input {name} has the shape {shape}, which is not in {ranges}",
                        name=repr(name),
                        shape=format_shape(shape),
                        ranges=format_ranges({name: dims}),
                    ),
                    place=Place(field=Text("input {at}", at=name)),
                    help=Text("convert the model again with the range that is needed"),
                )

    def at_gear(self, gear: int) -> Model:
        """The model of one gear, on the same kind of device; it closes with this one.

        Raises:
            ValueError: there is no such gear.
            AtcError: as the constructor does, of the device.
        """
        with self._loading:
            if gear not in self._loaded:
                self._loaded[gear] = self.separate_gear(gear)
            return self._loaded[gear]

    def separate(self) -> Model:
        """The model on a device of its own, which its caller closes; it needs this file."""
        return Model(self._package.path, *self._choice, self._package)

    def separate_gear(self, gear: int) -> Model:
        """The model of one gear, which its caller closes; it needs this one's file."""
        package = self._package.at_gear(gear)
        return Model(package.path, *self._choice, package)

    def reload(self) -> None:
        """Load the model again in a process that was forked, where it has neither threads nor locks.

        What the other process loaded is not released: that may wait for its threads.
        """
        from atc_py.device.backend import load_stored
        from atc_py.device.supervised import backend_for

        for each in self._loaded.values():
            each.reload()
        if self.gears is not None:
            return
        device, storage, timeout = self._choice
        self._inherited.append(self._backend)
        self._backend = backend_for(device, timeout)
        self._backend.open()
        self._handle = load_stored(self._backend, self._package, storage)

    def progress(self) -> tuple[int, int] | None:
        """Launches of a run that have ended, and all; None if the device does not tell.

        It may be called from another thread than the run's.
        """
        if self.gears is not None:
            return None if self._last is None else self._last.progress()
        ask = getattr(self._backend, "progress", None)
        return None if ask is None else ask(self._handle)

    def profile(self) -> Sequence[NodeProfile]:
        """The time of each node in the last run."""
        if self.gears is not None:
            return () if self._last is None else self._last.profile()
        return self._backend.profile(self._handle)

    def close(self) -> None:
        """Release the device and the file."""
        try:
            for each in self._loaded.values():
                each.close()
            self._backend.close()
        finally:
            if self._own:
                self._package.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def ports_of(description: OmModel, ports: Sequence[OmPort]) -> tuple[Port, ...]:
    from atc_py.package.schema import AIPP

    nodes = (node for node in description.nodes if node.op == AIPP and len(node.inputs) > 1)
    tensors, dynamic = description.tensors, {node.inputs[0] for node in nodes}
    return tuple(
        Port(
            port.name,
            DType(tensors[port.tensor].dtype),
            tuple(tensors[port.tensor].shape),
            partial=port.tensor in dynamic,
        )
        for port in ports
    )


def _joined_ports(package: OfflineModel, gears: Gears) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """Inputs and outputs of a model with gears, with None for dims that gears decide."""
    models = [package.at_gear(gear).description for gear in range(len(gears.gears))]
    inputs = zip(*(ports_of(each, each.inputs) for each in models), strict=True)
    outputs = zip(*(ports_of(each, each.outputs) for each in models), strict=True)
    return tuple(map(_joined, inputs)), tuple(map(_joined, outputs))


def _joined(ports: tuple[Port, ...]) -> Port:
    dims = tuple(
        found[0] if len(set(found)) == 1 else None
        for found in zip(*(port.shape for port in ports), strict=True)
    )
    shapes = tuple(port.shape for port in ports)
    first = ports[0]
    gears = shapes if None in dims else ()
    return Port(first.name, first.dtype, dims, gears, partial=first.partial)
