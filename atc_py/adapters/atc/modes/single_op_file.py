"""The JSON file of `--singleop`, read with ATC's checks in its order."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atc_py.adapters.atc.modes.opening import with_fault
from atc_py.diag import BAD_OPERATOR_FILE, FILE_NOT_FOUND, AtcError, AtcFault, Place
from atc_py.options.ranges import DimRange
from atc_py.package.ge.interface import FORMAT_NUMBERS
from atc_py.system.input_files import read_text
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims
from atc_py.text import Text, verbatim

UNDEFINED = 28
"""Number of the type of an optional input that is not there."""

_LONGEST_NAME = 128
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_FOLDERS = {".", ".."}
_SUFFIX = ".om"
_OPEN_TEXT = "-1"


@dataclass(frozen=True, slots=True)
class SingleOpTensor:
    """An input or output."""

    dtype: DType | None  # None for an optional input that is not there
    format: int  # number of its format
    shape: Dims  # its dims as they are stored; None where each run decides
    name: str = ""  # empty where the file has none
    value: Sequence[float] | None = None  # elements of a constant; None for data that runs are fed
    ranges: tuple[DimRange, ...] = ()  # of every dim, where some are open

    @property
    def words(self) -> list[str]:
        """The parts of the tensor in the name of a file."""
        number = UNDEFINED if self.dtype is None else self.dtype.ge
        dims = (_OPEN_TEXT if dim is None else str(dim) for dim in self.shape)
        return [str(number), str(self.format), *dims]


@dataclass(frozen=True, slots=True)
class SingleOpAttribute:
    """An attribute: its name, the kind that the file states, and its value in JSON."""

    name: str
    kind: str
    value: object


@dataclass(frozen=True, slots=True)
class SingleOp:
    """An operator of the list."""

    index: int  # its position in the list; entries that only set a flag do not count
    op: str
    name: str  # empty where the file has none
    inputs: tuple[SingleOpTensor, ...]  # by position
    outputs: tuple[SingleOpTensor, ...]  # by position
    attributes: tuple[SingleOpAttribute, ...]  # in the file's order

    @property
    def file_name(self) -> str:
        """The name of its offline model, by ATC's rule [proven]."""
        given = self.name[:_LONGEST_NAME]
        if _NAME.fullmatch(given) and given not in _FOLDERS:
            return given + _SUFFIX
        parts = [str(self.index), self.op]
        for tensor in (*self.inputs, *self.outputs):
            parts += tensor.words
        return "_".join(parts)[:_LONGEST_NAME] + _SUFFIX


_MOST_BYTES = 64 << 20
_MOST_ELEMENTS = 2**31 - 1
_OPEN = -1
"""A dim that each run decides, and a high end without limit."""

_DTYPES = {each.value: each for each in DType} | {
    "double": DType.FLOAT64,
    "float": DType.FLOAT32,
    "fp16": DType.FLOAT16,
    "half": DType.FLOAT16,
}
_ABSENT_DTYPE, _RESERVED = "undefined", "reserved"
_OTHER_DTYPES = {"complex32", "complex64", "complex128", "uint1", "hifloat8"} | {
    f"float8_{each}" for each in ("e5m2", "e4m3fn")
}
"""Types that ATC has and this package does not."""

_FORMATS = {name.lower(): number for name, number in FORMAT_NUMBERS.items()}
_KINDS = {
    "bool", "int", "float", "string", "list_bool", "list_int", "list_float", "list_string",
    "list_list_int", "data_type",
}  # fmt: skip


def read_single_ops(path: Path) -> tuple[SingleOp, ...]:
    """The operators of a file.

    Raises:
        AtcError: with E10023 for a path without a file, E10024 for a file that cannot be read,
            E10025 for other text than JSON; E10032 for JSON of another shape; E10026 to E10030 for
            an operator whose parts make no sense.
    """
    return tuple(_Reader(path).operators())


def _read_json(path: Path) -> Any:
    try:
        text = read_text(path, _MOST_BYTES)
    except AtcError as error:
        missing = error.diagnostics[0].code is FILE_NOT_FOUND
        raise with_fault(
            error, AtcFault("E10023" if missing else "E10024", (str(path),))
        ) from error
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        place = Place(str(path), line=getattr(error, "lineno", None))
        raise BAD_OPERATOR_FILE.error(
            Text("{path} is not JSON: {error}", path=path, error=error),
            place=place,
            atc=AtcFault("E10025", (str(path.resolve()), str(error))),
        ) from error


class _Reader:
    """Reads one file; faults name the operator and its part."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._op = ""

    def operators(self) -> Iterator[SingleOp]:
        found = _read_json(self._path)
        if not isinstance(found, list):
            raise self._misshapen(Text("the file must hold a list of operators"))
        index = 0
        for row in found:
            self._op = f"operator {index}"
            if not isinstance(row, dict):
                raise self._misshapen(Text("{op} must be an object, found {row}"), row=repr(row))
            if self._number(row, "compile_flag", 0) == 1:  # it concerns those that follow
                continue
            yield self._operator(row, index)
            index += 1

    def _operator(self, row: dict[str, Any], index: int) -> SingleOp:
        op, name = self._text(row, "op"), self._text(row, "name")
        self._op = op or self._op
        inputs = [self._tensor(each) for each in self._rows(row, "input_desc")]
        outputs = [self._tensor(each) for each in self._rows(row, "output_desc")]
        attributes = [self._attribute(each) for each in self._rows(row, "attr")]
        if not op:
            raise self._fault(Text("operator {index} has no `op`", index=index), "E10026", ())
        known_inputs = [self._checked(*each, "input", at) for at, each in enumerate(inputs)]
        known_outputs = [self._checked(*each, "output", at) for at, each in enumerate(outputs)]
        for each in attributes:
            self._check_attribute(each)
        return SingleOp(
            index, op, name, tuple(known_inputs), tuple(known_outputs), tuple(attributes)
        )

    def _tensor(self, row: dict[str, Any]) -> tuple[dict[str, Any], str, str]:
        """A tensor's row with its type and format, which may make no sense yet."""
        for key in ("shape", "format", "type"):
            if key not in row:
                raise self._misshapen(Text("a tensor of {op} has no `{key}`"), key=key)
        dims = row["shape"]
        if not isinstance(dims, list) or not all(_is_int(dim) for dim in dims):
            raise self._misshapen(
                Text("a shape of {op} must be a list of integers, found {dims}"), dims=repr(dims)
            )
        return row, self._text(row, "type").lower(), self._text(row, "format").lower()

    def _checked(
        self, row: dict[str, Any], dtype: str, form: str, side: str, at: int
    ) -> SingleOpTensor:
        known, number = _DTYPES.get(dtype), _FORMATS.get(form, _FORMATS[_RESERVED])
        if dtype in _OTHER_DTYPES:
            reason = Text("{dtype} of {side} {at} of {op} is not a type of this device")
            reason = reason.with_values(dtype=dtype, side=side, at=at, op=self._op)
            raise self._fault(reason, "E10055", (reason,))
        reserved = number == _FORMATS[_RESERVED]
        wrong = ""
        if known is None and (not reserved or side == "output"):
            wrong = "datatype"
        elif known is not None and reserved:
            wrong = "format"
        elif known is None and (dtype != _ABSENT_DTYPE or form != _RESERVED):
            wrong = "dataType or format"
        if wrong:
            raise self._tensor_fault(
                Text("type {row} and format {row_2} of {side} {at} of {op} do not describe a tensor"),
                wrong, side, at, row=repr(row["type"]), row_2=repr(row["format"]),
            )  # fmt: skip
        dims, value = self._dims(row, side, at), self._value(row)
        ranges = self._ranges(row, dims, side, at) if side == "input" else ()
        if ranges and value is not None:
            raise self._part_fault("shape", side, at, Text("a constant has no open dims"))
        return SingleOpTensor(known, number, dims, self._text(row, "name"), value, ranges)

    def _dims(self, row: dict[str, Any], side: str, at: int) -> tuple[int | None, ...]:
        dims = tuple(row["shape"])
        text = ",".join(map(str, dims))
        if any(dim < _OPEN for dim in dims):
            reason = Text("the simulated device compiles single operators for known ranks")
            message = Text("{side} {at} of {op} has the shape {text}; {reason}")
            message = message.with_values(side=side, at=at, op=self._op, text=text, reason=reason)
            raise self._fault(message, "E10055", (reason,))
        if math.prod(dim for dim in dims if dim != _OPEN) > _MOST_ELEMENTS:
            reason = Text("more than {most_elements} elements", most_elements=_MOST_ELEMENTS)
            message = Text("{side} {at} of {op} has {reason}: {text}")
            message = message.with_values(side=side, at=at, op=self._op, text=text, reason=reason)
            raise self._fault(message, "E13014", (text, "shape", self._op, reason))
        return tuple(None if dim == _OPEN else dim for dim in dims)

    def _ranges(
        self, row: dict[str, Any], dims: tuple[int | None, ...], side: str, at: int
    ) -> tuple[DimRange, ...]:
        """The range of every dim of an input with open ones: any number, or `shape_range`."""
        opened = [axis for axis, dim in enumerate(dims) if dim is None]
        if not opened:
            return ()
        given = row.get("shape_range", [[1, _OPEN]] * len(opened))
        if not isinstance(given, list) or len(given) not in {len(opened), len(dims)}:
            needed = Text("a pair for each open dim is needed")
            raise self._part_fault("shape_range", side, at, needed)
        ends = given if len(given) == len(opened) else [given[axis] for axis in opened]
        found = iter([self._range(each, side, at) for each in ends])
        return tuple(next(found) if dim is None else DimRange(dim, dim) for dim in dims)

    def _range(self, pair: Any, side: str, at: int) -> DimRange:
        """The range of an open dim; a high end of -1 is no limit, and no dim is 0 here."""
        if isinstance(pair, list) and len(pair) == len(("low", "high")) and all(map(_is_int, pair)):
            low, high = max(pair[0], 1) if pair[0] >= 0 else 0, pair[1]
            if low and (high == _OPEN or low <= high):
                return DimRange(low, None if high == _OPEN else high)
        reason = Text("{pair} is not a pair of two ends", pair=repr(pair))
        raise self._part_fault("shape_range", side, at, reason)

    def _part_fault(self, what: str, side: str, at: int, reason: str) -> AtcError:
        message = Text("{what} of {side} {at} of {op}: {reason}")
        return self._tensor_fault(message, what, side, at, what=what, reason=reason)

    def _tensor_fault(
        self, message: Text, part: str, side: str, at: int, **values: object
    ) -> AtcError:
        """The refusal of a part of a tensor, which the message may name with the operator."""
        said = message.with_values(side=side, at=at, op=self._op, **values)
        return self._fault(said, "E10027", (part, side, str(at), self._op))

    def _value(self, row: dict[str, Any]) -> tuple[float, ...] | None:
        is_const, values = row.get("is_const", False), row.get("const_value")
        if not isinstance(is_const, bool):
            raise self._misshapen(Text("is_const of a tensor of {op} must be true or false"))
        if not is_const:
            return None
        if not isinstance(values, list) or not all(
            isinstance(each, int | float) for each in values
        ):
            raise self._misshapen(Text("const_value of a tensor of {op} must be a list of numbers"))
        return tuple(values)

    def _attribute(self, row: dict[str, Any]) -> SingleOpAttribute:
        for key in ("name", "type"):
            if key not in row:
                raise self._misshapen(Text("an attribute of {op} has no `{key}`"), key=key)
        kind = self._text(row, "type")
        if kind in _KINDS and "value" not in row:
            raise self._misshapen(Text("an attribute of {op} has no `value`"))
        return SingleOpAttribute(self._text(row, "name"), kind, row.get("value"))

    def _check_attribute(self, row: SingleOpAttribute) -> None:
        if not row.name:
            raise self._fault(
                Text("an attribute of {op} has no name", op=self._op), "E10029", (self._op,)
            )
        if row.kind not in _KINDS:
            raise self._fault(
                Text(
                    "attribute {name} of {op} has the unknown type {kind}",
                    name=row.name,
                    op=self._op,
                    kind=repr(row.kind),
                ),
                "E10030",
                (row.name, self._op),
            )

    def _rows(self, row: dict[str, Any], key: str) -> list[dict[str, Any]]:
        found = row.get(key, [])
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise self._misshapen(Text("{key} of {op} must be a list of objects"), key=key)
        return found

    def _text(self, row: dict[str, Any], key: str) -> str:
        found = row.get(key, "")
        if not isinstance(found, str):
            raise self._misshapen(
                Text("{key} of {op} must be a text, found {actual}"), key=key, actual=repr(found)
            )
        if not found.isascii() and any("\ud800" <= each <= "\udfff" for each in found):
            raise self._misshapen(
                Text("{key} of {op} has an unpaired surrogate: {actual}"),
                key=key,
                actual=f"{found!a}",
            )
        return found

    def _number(self, row: dict[str, Any], key: str, absent: int) -> int:
        found = row.get(key, absent)
        if not _is_int(found):
            raise self._misshapen(
                Text("{key} of {op} must be an integer, found {actual}"),
                key=key,
                actual=repr(found),
            )
        return int(found)

    def _misshapen(self, text: Text, **values: object) -> AtcError:
        """The refusal of JSON that is no list of operators; the text may name the one at hand."""
        message = text.with_values(op=self._op, **values)
        return self._fault(message, "E10032", (str(self._path), message))

    def _fault(self, message: str, code: str, arguments: tuple[str, ...]) -> AtcError:
        return BAD_OPERATOR_FILE.error(
            verbatim(self._path) + ": " + Text(message),
            place=Place(str(self._path), op_type=self._op or None),
            atc=AtcFault(code, arguments),
        )


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
