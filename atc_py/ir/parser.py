"""Parser: the text form of the target IR as a graph; docs/ir.md has the grammar."""

from typing import TypeVar

from atc_py.ir.graph import Graph
from atc_py.ir.lexer import Cursor, Token, read_attribute, read_data, read_dtype, read_integer
from atc_py.ir.nodes import AttrValue, Engine, Node, Origin, Value
from atc_py.ir.types import Phase, TensorType
from atc_py.tensor.dtypes import Format
from atc_py.tensor.shapes import MAX_RANK
from atc_py.tensor.storage import BLOCKED_FORMATS, Storage
from atc_py.text import Text

_Row = TypeVar("_Row")

_PHASES = {phase.label: phase for phase in Phase}
_FORMATS = {fmt.value: fmt for fmt in Format}
_STORED = {fmt.value: fmt for fmt in BLOCKED_FORMATS}
_ENGINES = {engine.value: engine for engine in Engine}

_MAX_DIM = 2**63 - 1


def parse_graph(text: str, file: str | None = None) -> Graph:
    """The graph that `text` describes.

    Attributes that the text leaves out are absent from the node. The grammar and the definition
    of every value are checked; the promises of a phase are checked by the verifier.

    `file` is where the text comes from, for messages.

    Raises:
        AtcError: BAD_IR_TEXT at the first place where the text does not follow the grammar, uses
            an undefined value, or defines a name twice.
    """
    return _Parser(Cursor(text, file)).parse()


class _Parser:
    """One run over a text, by recursive descent; it never recurses deeper than the grammar."""

    def __init__(self, at: Cursor) -> None:
        self._at = at
        self._graph = Graph()
        self._values: dict[str, Value] = {}
        self._node_names: set[str] = set()

    def parse(self) -> Graph:
        at = self._at
        at.expect("graph")
        label = at.expect_kind("label", "the graph's name, `@name`")
        self._graph.name = at.decode(label, label.text[1:])
        at.expect("phase")
        self._graph.phase = self._one_of(_PHASES, "phase")
        at.expect("{")
        while not at.accept("}"):
            self._statement()
        at.expect_kind("end", "the end of the text")
        return self._graph

    def _statement(self) -> None:
        at = self._at
        if at.token.kind == "value":
            self._node()
        elif at.accept("input"):
            self._graph.inputs.append(self._definition())
        elif at.accept("const"):
            token = at.token
            value = self._definition()
            if value.type.is_open:
                raise at.error(
                    Text("a constant has known dims, found {type}", type=value.type), token
                )
            at.expect("=")
            value.const = read_data(at, value.type)
        elif at.accept("output"):
            value = self._defined_value()
            name = self._string("the output's name in quotes") if at.accept("as") else value.name
            self._graph.add_output(value, name)
        else:
            raise at.expected(Text("`input`, `const`, `output`, a value or `}`"))

    def _definition(self) -> Value:
        token, name = self._value_name()
        self._at.expect(":")
        value = Value(name, self._type())
        self._define(token, value)
        return value

    def _node(self) -> None:
        at = self._at
        names = [self._value_name()]
        while at.accept(","):
            names.append(self._value_name())
        at.expect("=")
        op = self._word("an operator")
        at.expect("(")
        inputs = at.series(")", self._input)
        attributes = self._attributes()
        at.expect(":")
        types = [self._type()]
        while len(types) < len(names):
            at.expect(",")
            types.append(self._type())
        outputs = [Value(name, type_) for (_, name), type_ in zip(names, types, strict=True)]
        engine = self._one_of(_ENGINES, "engine") if self._is_stated("engine") else None
        scope = 0
        if self._is_stated("scope"):
            scope = read_integer(at, Text("the number of a scope"))
        node_name = self._node_name(names[0][0], f"{op}:{outputs[0].name}")
        node = Node(op, node_name, inputs, outputs, attributes, self._origins())
        node.engine = engine
        node.scope = scope
        self._graph.nodes.append(node)
        for (token, _), value in zip(names, outputs, strict=True):
            self._define(token, value)

    def _input(self) -> Value | None:
        if self._at.accept("_"):
            return None
        if self._at.token.kind != "value":
            raise self._at.expected("a value such as `%x`, or `_`")
        return self._defined_value()

    def _attributes(self) -> dict[str, AttrValue]:
        at = self._at
        attributes: dict[str, AttrValue] = {}

        def read() -> None:
            token = at.token
            name = self._word("an attribute")
            if name in attributes:
                raise at.error(Text("attribute {name} is given twice", name=name), token)
            at.expect("=")
            attributes[name] = read_attribute(at)

        if at.accept("{"):
            at.series("}", read)
        return attributes

    def _type(self) -> TensorType:
        at = self._at
        dtype = read_dtype(at)
        opening = at.expect("[")
        dims = at.series("]", self._dim)
        if len(dims) > MAX_RANK:
            raise at.error(
                Text(
                    "at most {max_rank} axes are allowed, found {count}",
                    max_rank=MAX_RANK,
                    count=len(dims),
                ),
                opening,
            )
        form = self._one_of(_FORMATS, "format")
        return TensorType(dtype, tuple(dims), form, self._storage())

    def _dim(self) -> int | None:
        is_open = self._at.accept("?")
        return None if is_open else read_integer(self._at, Text("a dim"), (0, _MAX_DIM))

    def _storage(self) -> Storage | None:
        """`@FRACTAL_Z(2)` or `@NC1HWC0(C0=8)`, or nothing for row by row."""
        at = self._at
        if at.token.kind != "label":
            return None
        token = at.take()
        form = self._row(_STORED, token.text[1:], "storage", token)
        if not at.accept("("):
            return Storage(form)
        groups, depth = 1, 0
        if at.token.text != "C0":
            groups = read_integer(at, Text("a number of groups"), (1, _MAX_DIM))
        if at.token.text == "C0" or at.accept(","):
            at.expect("C0")
            at.expect("=")
            depth = read_integer(at, "C0", (1, _MAX_DIM))
        at.expect(")")
        return Storage(form, groups, depth)

    def _is_stated(self, name: str) -> bool:
        """True if `name=` comes next, which is taken."""
        if not self._at.accept(name):
            return False
        self._at.expect("=")
        return True

    def _node_name(self, place: Token, default: str) -> str:
        """`name="..."` or the default; no two nodes have the same."""
        at, name = self._at, default
        if self._is_stated("name"):
            place = at.token
            name = self._string("the node's name in quotes")
        if name in self._node_names:
            raise at.error(
                Text('a node called "{name}" exists already', name=name),
                place,
                Text('give one of them name="..."'),
            )
        self._node_names.add(name)
        self._graph.reserve(name)
        return name

    def _origins(self) -> list[Origin]:
        """`from [0 "conv1" Conv]` or nothing."""
        at = self._at
        if not at.accept("from"):
            return []
        at.expect("[")
        origins = [self._origin()]
        while at.accept(","):
            origins.append(self._origin())
        at.expect("]")
        return origins

    def _origin(self) -> Origin:
        index = read_integer(self._at, Text("the position of a source node"))
        name = self._string("the source node's name in quotes")
        return Origin(index, name, self._word("an ONNX operator"))

    def _value_name(self) -> tuple[Token, str]:
        token = self._at.expect_kind("value", "a value such as `%x`")
        return token, self._at.decode(token, token.text[1:])

    def _define(self, token: Token, value: Value) -> None:
        if value.name in self._values:
            raise self._at.error(
                Text("value {token} is defined twice", token=token),
                token,
                Text("every value has one definition"),
            )
        self._values[value.name] = value
        self._graph.reserve(value.name)

    def _defined_value(self) -> Value:
        token, name = self._value_name()
        value = self._values.get(name)
        if value is None:
            raise self._at.error(
                Text("value {token} is not defined", token=token),
                token,
                Text("a value is defined above its first use"),
            )
        return value

    def _word(self, what: str) -> str:
        """A word, or a string where the name is not a word."""
        if self._at.token.kind not in {"word", "string"}:
            raise self._at.expected(what)
        token = self._at.take()
        return self._at.decode(token, token.text)

    def _string(self, what: str) -> str:
        token = self._at.expect_kind("string", what)
        return self._at.decode(token, token.text)

    def _one_of(self, table: dict[str, _Row], what: str) -> _Row:
        token = self._at.expect_kind("word", Text("a word for the {what}", what=what))
        return self._row(table, token.text, what, token)

    def _row(self, table: dict[str, _Row], name: str, what: str, token: Token) -> _Row:
        row = table.get(name)
        if row is None:
            raise self._at.error(
                Text("unknown {what} {token}", what=what, token=token),
                token,
                Text("known are {known}", known=", ".join(table)),
            )
        return row
