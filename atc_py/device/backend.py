"""The protocol that every device back end follows, and what passes between it and its callers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from numpy.typing import NDArray

from atc_py.diag import BAD_OPTION, DEVICE_FAILED, AtcError
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.package.schema import OmModel


Loaded = TypeVar("Loaded", bound="DeviceModel")

STORAGE_MODES = ("logical", "exact")
"""How a device keeps tensors: as it likes, or each in its storage format, byte by byte."""


class LoadedModel(Protocol):
    """An offline model that was read: its description, and the data of its constants."""

    @property
    def description(self) -> OmModel: ...

    def array(self, member: str) -> NDArray[Any]:
        """Data of the constant in archive member `member`, read-only and memory-mapped.

        Raises:
            AtcError: the member is missing or damaged.
        """
        ...


class DeviceModel(Protocol):
    """A model loaded on a device; what `DeviceBackend.load` returns.

    Only the back end that made it can run it, and only until that back end is closed.
    """

    @property
    def description(self) -> OmModel: ...


@dataclass(frozen=True, slots=True)
class NodeProfile:
    """The cost of one node in one run.

    Attributes:
        name: the node's name.
        op: its target operator.
        engine: what executed it: aicore, aicpu or local.
        seconds: time from launch to the rounded result.
        output_bytes: bytes of its outputs in the dtypes that the model declares.
    """

    name: str
    op: str
    engine: str
    seconds: float
    output_bytes: int


@runtime_checkable
class DeviceBackend(Protocol):
    """A device that executes offline models.

    Lifecycle: `open`, then any number of `load`, then any number of `run` and `profile` on what
    `load` returned, then `close`. `close` frees every model that is still loaded and may be
    called twice; `open` may follow it. Any other order raises an AtcError with DEVICE_FAILED.
    Runs of one loaded model do not overlap: a second thread waits.
    """

    @property
    def name(self) -> str:
        """The name under which `--device` finds the back end."""
        ...

    def open(self) -> None:
        """Take hold of the device.

        Raises:
            AtcError: DEVICE_FAILED when the device cannot be had.
        """
        ...

    def load(self, model: LoadedModel) -> DeviceModel:
        """Check a model and put it on the device.

        Raises:
            AtcError: OM_CONTENT when the description contradicts itself or asks for what the
                device does not have; every finding is reported.
        """
        ...

    def run(
        self, handle: DeviceModel, inputs: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        """The outputs for `inputs`, by name, in unshared arrays of the declared dtypes.

        Raises:
            AtcError: MISSING_RUN_INPUT or BAD_RUN_INPUT when `inputs` do not fit the model,
                DEVICE_FAILED when a node fails.
        """
        ...

    def profile(self, handle: DeviceModel) -> tuple[NodeProfile, ...]:
        """The nodes of the last complete run in their order; empty before the first."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class ExactBackend(Protocol):
    """A back end that can also keep every tensor as the real device does."""

    def load_exact(self, model: LoadedModel) -> DeviceModel:
        """Load like `DeviceBackend.load`, for runs that store tensors as the device does.

        Each is in its storage format and its true dtype at the place of the memory plan. Results
        are the same.

        Raises:
            AtcError: as `DeviceBackend.load` does.
        """
        ...


def own_model(models: Iterable[Loaded], handle: object) -> Loaded:
    """The one of a device's `models` that a caller has in its hand."""
    for model in models:
        if model is handle:
            return model
    raise DEVICE_FAILED.error(
        Text("the model is not loaded on this device"),
        help=Text("load it after the device was opened"),
    )


def not_open(name: str) -> AtcError:
    """The error for a device that is asked before it was opened."""
    return DEVICE_FAILED.error(
        Text("device {name} is not open", name=repr(name)), help=Text("call open() first")
    )


def load_stored(backend: DeviceBackend, model: LoadedModel, storage: str) -> DeviceModel:
    """`model` on a device that keeps tensors in one of the `STORAGE_MODES`.

    Raises:
        AtcError: BAD_OPTION for another mode, or one that the back end does not have; else what
            the back end raises.
    """
    if storage not in STORAGE_MODES:
        known = " and ".join(STORAGE_MODES)
        raise BAD_OPTION.error(
            Text("--storage cannot be {storage}", storage=repr(storage)),
            help=Text("values are {known}", known=known),
        )
    if storage == STORAGE_MODES[0]:
        return backend.load(model)
    if not isinstance(backend, ExactBackend):
        text = Text("device {backend} does not run with --storage {storage}")
        raise BAD_OPTION.error(
            text.with_values(backend=repr(backend.name), storage=storage),
            help=Text("leave --storage out, or run on the device `sim`"),
        )
    return backend.load_exact(model)
