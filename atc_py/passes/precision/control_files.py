"""Reads ATC's finer controls of precision and holds their names against the model."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from atc_py.diag import (
    BAD_CONTROL_FILE,
    BAD_OPTION,
    NOT_IN_MODEL,
    OPTIONS_EXCLUDE,
    AtcError,
    AtcFault,
    Diagnostic,
    Place,
    Sink,
)
from atc_py.options.compile_options import PrecisionMode, PrecisionOptions
from atc_py.passes.precision.controls import (
    Controls,
    Custom,
    ModelNames,
    NodeSettings,
    unknown_name,
)
from atc_py.passes.precision.implementations import IMPLEMENTATIONS
from atc_py.passes.precision.mix_lists import MixList, read_moves
from atc_py.system.input_files import read_text
from atc_py.target import find_operator, operators
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.text import Text, error_text

_TYPE = "OpType::"
_BY_TYPE, _BY_NODE = "[ByOpType]", "[ByNodeName]"
_INPUT, _OUTPUT = "InputDtype", "OutputDtype"
_MOST_BYTES = 16 << 20
_MOST_LINES = 100_000
"""A line of 160 bytes for each node of a large model."""

_ADVISED = 20
"""Names that nothing has for which the nearest ones are looked for."""

_ACL = {"FP32": DType.FLOAT32, "FP16": DType.FLOAT16, "DOUBLE": DType.FLOAT64}
_ACL |= {each.value.upper(): each for each in DType if each.is_integer}
"""Dtypes as `--output-type` spells them."""


def read_controls(options: PrecisionOptions, mode: PrecisionMode, names: ModelNames) -> Controls:
    """The user's controls of single parts of the model that has `names`; no name may be unknown.

    Raises:
        AtcError: as `atc_py.system.input_files.read_text` does, BAD_CONTROL_FILE, BAD_OPTION, OPTIONS_EXCLUDE,
            and NOT_IN_MODEL for every name that nothing has.
    """
    controls, unknown = find_controls(options, mode, names)
    if unknown:
        raise AtcError(*unknown)
    return controls


def find_controls(
    options: PrecisionOptions, mode: PrecisionMode, names: ModelNames
) -> tuple[Controls, tuple[Diagnostic, ...]]:
    """`read_controls`, with NOT_IN_MODEL for each unknown name instead of an error.

    Raises:
        AtcError: as `read_controls`, but for NOT_IN_MODEL.
    """
    reader = _Reader(names)
    implementations = reader.implementations(options.op_precision_mode)
    listed = _listed_modes(options.implementations)
    keep, custom = reader.keep(options.keep_dtype), reader.custom(options.customize_dtypes)
    added, removed = reader.lists(options.modify_mixlist, mode)
    controls = Controls(
        keep=keep,
        custom=custom,
        implementations=NodeSettings(implementations.nodes, listed | implementations.types),
        lists=added,
        removed=removed,
        fp16_inputs=reader.inputs(options.input_fp16_nodes),
        outputs=reader.outputs(options.output_type),
        clip_weights=options.is_weight_clip,
        allow_hf32=options.allow_hf32,
    )
    return controls, tuple(reader.sink.errors)


class _Reader:
    """Reads each option; names that nothing has go to `sink`."""

    def __init__(self, names: ModelNames) -> None:
        self._names = names
        self.sink = Sink()

    def keep(self, path: Path | None) -> NodeSettings[bool]:
        """Nodes and operators of a --keep-dtype file: one name or `OpType::T` a line."""
        named: NodeSettings[bool] = NodeSettings()
        for place, line in _lines(path):
            if line.startswith(_TYPE):
                named.types[self._type(line.removeprefix(_TYPE).strip(), place)] = True
            else:
                named.nodes[self._node(line, place)] = True
        return named

    def custom(self, path: Path | None) -> NodeSettings[Custom]:
        named: NodeSettings[Custom] = NodeSettings()
        for place, line in _lines(path):
            by_type = line.startswith(_TYPE)
            name, colons, dtypes = line.removeprefix(_TYPE).partition("::")
            if by_type and not colons:
                name, colons, dtypes = line.removeprefix(_TYPE).partition(":")
            if not colons:
                raise _bad(
                    place, Text("{line} has no `::` between a name and its dtypes", line=repr(line))
                )
            if by_type:
                named.types[self._type(name.strip(), place)] = _custom(dtypes, place)
            else:
                named.nodes[self._node(name.strip(), place)] = _custom(dtypes, place)
        return named

    def lists(
        self, path: Path | None, mode: PrecisionMode
    ) -> tuple[dict[str, MixList], dict[str, MixList]]:
        """The lists that a --modify-mixlist file adds operators to, and takes them from."""
        if path is None:
            return {}, {}
        if not mode.is_mixed:
            raise OPTIONS_EXCLUDE.error(
                Text("--modify-mixlist has no effect with {mode}", mode=mode.value),
                place=Place(field="--modify-mixlist"),
                help=Text("use it with allow_mix_precision, _fp16 or _bf16"),
            )
        place = Place(str(path))
        moves = read_moves(_mixlist(path), place)
        for op in moves:
            if find_operator(op) is None:
                known = [row.name for row in operators()]
                self._add_unknown(Text("target operator"), op, known, place)
        added = {op: move.added for op, move in moves.items() if move.added is not None}
        removed = {op: move.removed for op, move in moves.items() if move.removed is not None}
        return added, removed

    def implementations(self, path: Path | None) -> NodeSettings[str]:
        """The modes by node and operator of an --op-precision-mode file (`name=mode`)."""
        named: NodeSettings[str] = NodeSettings()
        by_node = False
        for place, line in _lines(path):
            if line.startswith("["):
                if line not in (_BY_TYPE, _BY_NODE):
                    raise _bad(
                        place,
                        Text(
                            "sections are {by_type} and {by_node}, found {line}",
                            by_type=_BY_TYPE,
                            by_node=_BY_NODE,
                            line=repr(line),
                        ),
                    )
                by_node = line == _BY_NODE
                continue
            name, equals, mode = (part.strip() for part in line.partition("="))
            if not equals or mode not in IMPLEMENTATIONS:
                known = ", ".join(IMPLEMENTATIONS)
                raise _bad(
                    place,
                    Text(
                        "{line} is not `name=mode` with one of {known}",
                        line=repr(line),
                        known=known,
                    ),
                )
            if by_node:
                named.nodes[self._node(name, place)] = mode
            else:
                named.types[self._type(name, place)] = mode
        return named

    def inputs(self, text: str) -> frozenset[str]:
        found = frozenset(part.strip() for part in text.split(";") if part.strip())
        for name in sorted(found - set(self._names.inputs)):
            place = Place(field="--input-fp16-nodes")
            code = "E10017" if name in self._names.nodes else "E10016"
            fault = AtcFault(code, (name, "input_fp16_nodes"))
            self._add_unknown("input", name, self._names.inputs, place, fault)
        return found

    def outputs(self, text: str) -> dict[str, DType]:
        if not text:
            return {}
        if ":" not in text:
            return {"": _acl_dtype(text)}
        found: dict[str, DType] = {}
        for entry in filter(None, (part.strip() for part in text.split(";"))):
            head, _, dtype = entry.rpartition(":")
            node, _, index = head.rpartition(":")
            if not node or not index.isdecimal():
                raise BAD_OPTION.error(
                    Text(
                        "{entry} of --output-type is not of the form `node:index:TYPE`",
                        entry=repr(entry),
                    ),
                    place=Place(field="--output-type"),
                    help=Text('write FP16 for all outputs, or "node:0:FP16;other:0:FP32"'),
                )
            found[self._output(node, int(index))] = _acl_dtype(dtype)
        return found

    def _output(self, node: str, index: int) -> str:
        place = Place(field="--output-type")
        results = self._names.nodes.get(node, (node,) if node in self._names.outputs else None)
        if results is None:
            known = [*self._names.nodes, *self._names.outputs]
            self._add_unknown(Text("node or output"), node, known, place)
            return node
        name = results[index] if index < len(results) else f"{node}:{index}"
        if name not in self._names.outputs:
            self._add_unknown(Text("output of the model"), name, self._names.outputs, place)
        return name

    def _add_unknown(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        place: Place,
        fault: AtcFault | None = None,
    ) -> None:
        """Keep a name that nothing has; the nearest ones are looked for while there are few."""
        if len(self.sink.diagnostics) < _ADVISED:
            found = unknown_name(kind, name, known, place)
        else:
            found = NOT_IN_MODEL.diagnostic(
                Text("no {kind} is called {name}", kind=kind, name=repr(name)), place=place
            )
        self.sink.add(found._replace(atc=fault))

    def _node(self, name: str, place: Place) -> str:
        if name not in self._names.nodes:
            self._add_unknown("node", name, self._names.nodes, place)
        return name

    def _type(self, name: str, place: Place) -> str:
        if name not in self._names.types and find_operator(name) is None:
            known = self._names.types | {row.name for row in operators()}
            self._add_unknown("operator", name, sorted(known), place)
        return name


def _listed_modes(text: str) -> dict[str, str]:
    found = {}
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        op, _, mode = (part.strip() for part in entry.partition("="))
        if not op or mode not in IMPLEMENTATIONS:
            raise BAD_OPTION.error(
                Text("{entry} is not `Operator=mode`", entry=repr(entry)),
                help=Text("modes are {known}", known=", ".join(IMPLEMENTATIONS)),
            )
        found[op] = mode
    return found


def _acl_dtype(name: str) -> DType:
    found = _ACL.get(name.strip().upper())
    if found is None:
        raise BAD_OPTION.error(
            Text("--output-type does not take the dtype {name}", name=repr(name.strip())),
            place=Place(field="--output-type"),
            help=Text("dtypes are {acl}", acl=", ".join(_ACL)),
        )
    return found


def _custom(text: str, place: Place) -> Custom:
    found: dict[str, list[DType]] = {_INPUT: [], _OUTPUT: []}
    side = ""
    for part in text.split(","):
        head, colon, dtype = part.strip().rpartition(":")
        side = head.strip() if colon else side
        if side not in found:
            raise _bad(
                place,
                Text(
                    "expected `{input}:` or `{output}:` before {part}",
                    input=_INPUT,
                    output=_OUTPUT,
                    part=repr(part.strip()),
                ),
            )
        try:
            found[side].append(DType.parse(dtype.strip().lower()))
        except UnknownDTypeError as error:
            raise _bad(place, error_text(error)) from None
    return Custom(tuple(found[_INPUT]), tuple(found[_OUTPUT]))


def _mixlist(path: Path) -> Any:
    try:
        return json.loads(read_text(path, _MOST_BYTES))
    except (RecursionError, ValueError) as error:
        raise _bad(Place(str(path)), Text("not JSON: {error}", error=error)) from None


def _lines(path: Path | None) -> Iterator[tuple[Place, str]]:
    if path is None:
        return
    lines = read_text(path, _MOST_BYTES).splitlines()
    if len(lines) > _MOST_LINES:
        place = Place(str(path), line=_MOST_LINES + 1)
        raise _bad(
            place,
            Text(
                "a file has at most {most_lines} lines, found {count}",
                most_lines=_MOST_LINES,
                count=len(lines),
            ),
        )
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not text.startswith("#"):
            yield Place(str(path), line=number), text


def _bad(place: Place, message: Text) -> Exception:
    return BAD_CONTROL_FILE.error(message, place=place)
