"""Data that programs feed to a session, as onnxruntime takes them: checked, and as arrays."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.adapters.session.compiled import Key
from atc_py.adapters.session.errors import INVALID_ARGUMENT, session_error
from atc_py.adapters.session.values import is_value, type_text
from atc_py.diag import BAD_RUN_INPUT, MISSING_RUN_INPUT, Diagnostic, Place
from atc_py.onnx_graph.reading.interface import DeclaredValue, ModelInterface
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

Array = npt.NDArray[Any]


_DTYPES = {type_text(each): each for each in DType}


class _Wanted:
    """An input that a program must feed.

    Attributes:
        dtype: its element type; None where sessions have no such arrays.
        rank: number of its axes; None where any shape is taken.
        known: axes whose dims are numbers, with these.
        fixed: the shape of all arrays for it, where all dims are numbers.
        text: its type as messages write it.
    """

    __slots__ = ("dtype", "fixed", "known", "name", "rank", "text")

    def __init__(self, declared: DeclaredValue) -> None:
        self.name = declared.name
        self.dtype = dtype_of(declared.type)
        dims = declared.dims
        self.rank = None if dims is None else len(dims)
        self.known = [(at, dim) for at, dim in enumerate(dims or ()) if isinstance(dim, int)]
        self.fixed: Shape | None = None
        if len(self.known) == self.rank:
            self.fixed = tuple(dim for _, dim in self.known)
        shown = "" if dims is None else f" {['?' if dim is None else dim for dim in dims]}"
        self.text = f"{declared.type}{shown}"

    def fits(self, shape: Shape) -> bool:
        """True if arrays of that shape may be fed."""
        if self.fixed is not None:
            return shape == self.fixed
        if self.rank is None:
            return True
        return len(shape) == self.rank and all(shape[at] == dim for at, dim in self.known)


class Feeder:
    """Reader of the data for the inputs of one model.

    Attributes:
        open_names: the inputs whose shapes are not fixed.
    """

    def __init__(self, interface: ModelInterface, bound: Mapping[str, float]) -> None:
        """Prepare to read the inputs; those that are `bound` are constants in what is compiled."""
        self._wanted = [_Wanted(each) for each in interface.inputs]
        self._overridable = {each.name for each in interface.overridable}
        self._bound = bound
        self.open_names = tuple(each.name for each in self._wanted if each.fixed is None)

    def read(self, given: Mapping[str, Any]) -> tuple[Key, dict[str, Array]]:
        """The shapes of the inputs with open dims, and all arrays by name.

        Raises:
            AtcError: MISSING_RUN_INPUT, BAD_RUN_INPUT, all findings at once; a ValueError or
                onnxruntime's InvalidArgument, too.
        """
        feed: object = given
        if type(feed) is not dict and not isinstance(feed, Mapping):
            message = Text(
                "input_feed must map names to arrays, found {name}", name=type(feed).__name__
            )
            raise session_error("TypeError", BAD_RUN_INPUT.diagnostic(message))
        found: dict[str, Array] = {}
        for wanted in self._wanted:
            data = given.get(wanted.name)
            if type(data) is np.ndarray and data.dtype == wanted.dtype and wanted.fits(data.shape):
                found[wanted.name] = data
            else:
                found = self._converted(given)
                break
        if len(given) != len(found):
            self._refuse(self._strangers(given))
        key = tuple([found[name].shape for name in self.open_names])
        return key, self._without_bound(found) if self._bound else found

    def _converted(self, given: Mapping[str, Any]) -> dict[str, Array]:
        missing = [each for each in self._wanted if each.name not in given]
        if missing:
            named = ", ".join(f"{each.name!r} ({each.text})" for each in missing)
            message = Text("no data was given for input {missing}", missing=named)
            help_ = Text(
                "{count} given: {given}",
                count=len(given),
                given=", ".join(map(repr, given)) or Text("none"),
            )
            raise session_error("ValueError", MISSING_RUN_INPUT.diagnostic(message, help=help_))
        found: dict[str, Array] = {}
        faults: list[Diagnostic] = []
        for wanted in self._wanted:
            array = _as_array(given[wanted.name], wanted)
            fault = _fault_of(array, given[wanted.name], wanted)
            if fault is not None:
                faults.append(fault)
            elif array is not None:
                found[wanted.name] = array
        self._refuse([*faults, *self._strangers(given)])
        return found

    def _strangers(self, given: Mapping[str, Any]) -> Iterator[Diagnostic]:
        names = [each.name for each in self._wanted]
        for name in given:
            if name in names:
                continue
            message = Text("the model has no input {name}", name=repr(name))
            if name in self._overridable:
                message = Text(
                    "{name} is an initializer, and a constant in the compiled model",
                    name=repr(name),
                )
            yield BAD_RUN_INPUT.diagnostic(
                message, help=Text("its inputs are: {known}", known=", ".join(names))
            )

    def _without_bound(self, found: dict[str, Array]) -> dict[str, Array]:
        """The arrays without those of bound inputs, which must have the bound values."""
        for name, value in self._bound.items():
            array = found.get(name)
            if array is not None and not np.all(array == value):
                message = Text(
                    "input {name} was fixed to {value} when the model was compiled",
                    name=repr(name),
                    value=value,
                )
                self._refuse([BAD_RUN_INPUT.diagnostic(message, place=_place(name))])
        return {name: array for name, array in found.items() if name not in self._bound}

    @staticmethod
    def _refuse(faults: Sequence[Diagnostic] | Iterator[Diagnostic]) -> None:
        found = tuple(faults)
        if found:
            raise session_error(INVALID_ARGUMENT, *found)


def dtype_of(type_: str) -> np.dtype[Any] | None:
    """The element type of arrays of such a type; None where sessions have no such arrays."""
    dtype = _DTYPES.get(type_)
    return None if dtype is None else dtype.numpy


def _as_array(data: Any, wanted: _Wanted) -> Array | None:
    """Data as an array; None for what onnxruntime does not take either."""
    if is_value(data):
        data = data.numpy()
    if isinstance(data, list):
        try:
            data = np.array(data, dtype=wanted.dtype)
        except (ValueError, TypeError, OverflowError):
            return None
    if not isinstance(data, np.ndarray):
        return None
    array: Array = data if data.dtype.isnative else data.astype(data.dtype.newbyteorder("="))
    return array.reshape(()) if wanted.fixed == () and array.size == 1 else array


def _fault_of(array: Array | None, data: Any, wanted: _Wanted) -> Diagnostic | None:
    found = type(data).__name__
    hint = Text("feed a numpy array, a list or an OrtValue")
    if array is not None:
        if array.dtype == wanted.dtype and wanted.fits(array.shape):
            return None
        found = f"{_type_of(array)} {list(array.shape)}"
        hint = Text("change the array before the run; the session converts lists alone")
    message = Text(
        "input {wanted} must be {wanted_2}, found {actual}",
        wanted=repr(wanted.name),
        wanted_2=wanted.text,
        actual=found,
    )
    return BAD_RUN_INPUT.diagnostic(message, place=_place(wanted.name), help=hint)


def _type_of(array: Array) -> str:
    try:
        return type_text(DType.from_numpy(array.dtype))
    except UnknownDTypeError:
        return f"tensor({array.dtype.name})"


def _place(name: str) -> Place:
    return Place(field=Text("input {at}", at=name))
