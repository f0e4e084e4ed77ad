"""Finds device back ends: the built-in ones and those that installed packages provide."""

from importlib.metadata import EntryPoint, entry_points

from atc_py.device.backend import DeviceBackend
from atc_py.diag import UNKNOWN_DEVICE, AtcError
from atc_py.text import Text

_GROUP = "atc_py.devices"
_BUILT_IN = (
    EntryPoint("ort", "atc_py.device.ort.backend:OrtBackend", _GROUP),
    EntryPoint("sim", "atc_py.device.sim.backend:SimBackend", _GROUP),
)
"""Declared in pyproject.toml too; these rows serve checkouts that are not installed."""


BUILT_IN = frozenset(point.name for point in _BUILT_IN)
"""The back ends that are atc-py's own."""


def device_names() -> tuple[str, ...]:
    return tuple(sorted({point.name for point in _points()}))


def find_backend(name: str) -> DeviceBackend:
    """A new back end called `name`, not yet open.

    Raises:
        AtcError: UNKNOWN_DEVICE when nothing of that name is installed, when two packages claim
            the name, or when the package that provides it cannot be imported.
    """
    targets = sorted({point.value for point in _points() if point.name == name})
    if not targets:
        known = ", ".join(device_names())
        raise UNKNOWN_DEVICE.error(
            Text("no device is called {name}", name=repr(name)),
            help=Text("installed are {known}", known=known),
        )
    if len(targets) > 1:
        text = Text("device {name} is provided by {targets}")
        raise UNKNOWN_DEVICE.error(
            text.with_values(name=repr(name), targets=" and by ".join(targets)),
            help=Text("uninstall one of the packages"),
        )
    return _make(EntryPoint(name, targets[0], _GROUP))


def _points() -> tuple[EntryPoint, ...]:
    return (*_BUILT_IN, *entry_points(group=_GROUP))


def _make(point: EntryPoint) -> DeviceBackend:
    try:
        backend = point.load()()
    except Exception as error:  # whatever a foreign package raises
        raise _unusable(point, f"{type(error).__name__}: {error}") from error
    if not isinstance(backend, DeviceBackend):
        raise _unusable(point, Text("it lacks methods of DeviceBackend"))
    return backend


def _unusable(point: EntryPoint, reason: str) -> AtcError:
    text = Text("device {point} of {point_2} cannot be used: {reason}")
    return UNKNOWN_DEVICE.error(
        text.with_values(point=repr(point.name), point_2=point.value, reason=reason),
        help=Text("reinstall the package that provides it, or use the device `sim`"),
    )
