"""The parser's errors: each at its line and column, with what was expected."""

import pytest

from atc_py.diag import AtcError, Diagnostic, ExitCode
from atc_py.diag.codes import BAD_IR_TEXT
from atc_py.ir.parser import parse_graph
from tests.failures import in_one_item

HEAD = "graph @g phase lowered {\n  input %x : int8[2] ND\n"


def parse_error(text: str, file: str | None = None) -> Diagnostic:
    """Return the one diagnostic of a text that is wrong."""
    with pytest.raises(AtcError) as caught:
        parse_graph(text, file)
    assert caught.value.exit_code is ExitCode.FILE
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code is BAD_IR_TEXT
    return diagnostic


def check_error(text: str, line: int, column: int, message: str) -> None:
    """Hold the place and the start of the message of a text's error."""
    found = parse_error(text)
    assert found.place is not None
    assert (found.place.line, found.place.column) == (line, column)
    assert found.message.startswith(message), found.message


@in_one_item(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "expected `graph`, found the end of the text"),
        ("\n  module", 2, 3, "expected `graph`, found `module`"),
        ("graph g", 1, 7, "expected the graph's name, `@name`, found `g`"),
        ("graph @", 1, 7, "expected the graph's name, `@name`, found `@`"),
        ('graph @"g', 1, 7, "expected the graph's name, `@name`, found `@`"),
        ("graph @g {", 1, 10, "expected `phase`, found `{`"),
        ("graph @g phase {", 1, 16, "expected a word for the phase, found `{`"),
        ("graph @g phase low {", 1, 16, "unknown phase `low`"),
        ("graph @g phase lowered", 1, 23, "expected `{`, found the end of the text"),
        ("graph @g phase lowered {", 1, 25, "expected `input`, `const`, `output`, a value or `}`"),
        ("graph @g phase lowered {}\n}", 2, 1, "expected the end of the text, found `}`"),
        ("graph @g phase lowered {} # a\n b", 2, 2, "expected the end of the text, found `b`"),
        ('graph @"\\x" phase lowered {}', 1, 7, "expected a JSON string, found `@"),
        ('graph @"a\tb" phase lowered {}', 1, 7, "expected a JSON string, found `@"),
    ],
)
def test_header_error_is_placed(text: str, line: int, column: int, message: str) -> None:
    check_error(text, line, column, message)


@in_one_item(
    ("statement", "column", "message"),
    [
        ("Relu(%x)", 1, "expected `input`, `const`, `output`, a value or `}`, found `Relu`"),
        (
            '"s',
            1,
            "expected `input`, `const`, `output`, a value or `}`, found an unterminated string",
        ),
        ("input x", 7, "expected a value such as `%x`, found `x`"),
        ("input % x", 7, "expected a value such as `%x`, found `%`"),
        ("input %z int8[] ND", 10, "expected `:`, found `int8`"),
        ("input %z : [2] ND", 12, "expected a dtype, found `[`"),
        ("input %z : int9[2] ND", 12, "unknown dtype 'int9'; known are float16, "),
        ("input %z : int8 ND", 17, "expected `[`, found `ND`"),
        ("input %z : int8[a] ND", 17, "expected a dim, an integer, found `a`"),
        ("input %z : int8[1.0] ND", 17, "expected a dim, an integer, found `1.0`"),
        ("input %z : int8[-1] ND", 17, "a dim must be in [0, 9223372036854775807], found `-1`"),
        ("input %z : int8[99999999999999999999] ND", 17, "a dim must be in [0, "),
        ("input %z : int8[1 2] ND", 19, "expected `,`, found `2`"),
        ("input %z : int8[1,] ND", 19, "expected a dim, an integer, found `]`"),
        (f"input %z : int8[{'1,' * 32}1] ND", 16, "at most 32 axes are allowed, found 33"),
        ("input %z : int8[1] NCWH", 20, "unknown format `NCWH`"),
        ("input %z : int8[1] ND@NCHW", 22, "unknown storage `@NCHW`"),
        ("input %z : int8[1] ND@", 22, "expected `input`, `const`, `output`, a value or `}`"),
        ("input %z : int8[1] ND@FRACTAL_NZ(0)", 34, "a number of groups must be in [1, "),
        ("input %z : int8[1] ND@FRACTAL_NZ()", 34, "expected a number of groups, an integer"),
        ("input %z : int8[1] ND@FRACTAL_NZ(2 %z", 36, "expected `)`, found `%z`"),
        ("input %x : int8[2] ND", 7, "value `%x` is defined twice"),
        ('input %"x" : int8[2] ND', 7, 'value `%"x"` is defined twice'),
        ("output x", 8, "expected a value such as `%x`, found `x`"),
        ("output %z", 8, "value `%z` is not defined"),
        ("output %x as prob", 14, "expected the output's name in quotes, found `prob`"),
    ],
)
def test_statement_error_is_placed(statement: str, column: int, message: str) -> None:
    check_error(f"{HEAD}{statement}\n}}", 3, column, message)


def test_error_at_the_end_of_a_line_is_placed_at_the_next_token() -> None:
    check_error(f"{HEAD}input %z : int8[1]\n}}", 4, 1, "expected a word for the format, found `}`")


@in_one_item(
    ("rest", "column", "message"),
    [
        (", = A() : int8[] ND", 5, "expected a value such as `%x`, found `=`"),
        (" A()", 4, "expected `=`, found `A`"),
        (" = ()", 6, "expected an operator, found `(`"),
        (" = A : int8[] ND", 8, "expected `(`, found `:`"),
        (" = A(%x : int8[] ND", 11, "expected `,`, found `:`"),
        (" = A(%x,) : int8[] ND", 11, "expected a value such as `%x`, or `_`, found `)`"),
        (" = A(%z) : int8[] ND", 8, "value `%z` is not defined"),
        (" = A(%y) : int8[] ND", 8, "value `%y` is not defined"),
        (" = A() int8[] ND", 10, "expected `:`, found `int8`"),
        (" = A() : int8[] ND, int8[] ND", 21, "expected `input`, `const`, `output`, a value"),
        (", %z = A() : int8[] ND }", 26, "expected `,`, found `}`"),
        (", %y = A() : int8[] ND, int8[] ND", 5, "value `%y` is defined twice"),
        (" = A() : int8[] ND engine aicore", 29, "expected `=`, found `aicore`"),
        (" = A() : int8[] ND engine=gpu", 29, "unknown engine `gpu`"),
        (" = A() : int8[] ND engine=9", 29, "expected a word for the engine, found `9`"),
        (" = A() : int8[] ND name=y", 27, "expected the node's name in quotes, found `y`"),
        (' = A() : int8[] ND name="y" engine=aicpu', 31, "expected `input`, `const`, `output`"),
        (" = A() : int8[] ND from []", 28, "expected the position of a source node, an integer"),
        (" = A() : int8[] ND from [a]", 28, "expected the position of a source node, an integer"),
        (" = A() : int8[] ND from [0 c C]", 30, "expected the source node's name in quotes"),
        (' = A() : int8[] ND from [0 "c"]', 33, "expected an ONNX operator, found `]`"),
        (' = A() : int8[] ND from [0 "c" C 1', 36, "expected `]`, found `1`"),
        (" = A() : int8[] ND ;", 22, "expected `input`, `const`, `output`, a value or `}`, found"),
    ],
)
def test_node_error_is_placed(rest: str, column: int, message: str) -> None:
    check_error(f"{HEAD}%y{rest}\n}}", 3, column, message)


@in_one_item(
    ("attributes", "column", "message"),
    [
        ("{", 2, "expected an attribute, found the end of the text"),
        ("{1=1}", 2, "expected an attribute, found `1`"),
        ("{a}", 3, "expected `=`, found `}`"),
        ("{a=}", 4, "expected an attribute's value (a number, true, "),
        ("{a=%x}", 4, "expected an attribute's value (a number, true, "),
        ("{a=1 b=2}", 6, "expected `,`, found `b`"),
        ("{a=1,}", 6, "expected an attribute, found `}`"),
        ("{a=1, a=2}", 7, "attribute a is given twice"),
        ("{a=yes}", 4, "unknown dtype 'yes'"),
        ("{a='s'}", 4, "expected an attribute's value (a number, true, "),
        ('{a="\\q"}', 4, "expected a JSON string, found `"),
        ("{a=9223372036854775808}", 4, "an integer must be in [-9223372036854775808, "),
        (f"{{a={'9' * 5000}}}", 4, "an integer must be in [-9223372036854775808, "),
        ("{a=1e999}", 4, "`1e999` is out of range for a float"),
        ("{a=1e}", 5, "expected `,`, found `e`"),
        ("{a=-}", 4, "expected an attribute's value (a number, true, "),
        ("{a=.5}", 4, "expected an attribute's value (a number, true, "),
        ("{a=[}", 5, "expected a number, found `}`"),
        ("{a=[1,]}", 7, "expected an element like the first, an integer, found `]`"),
        ("{a=[1,2.0]}", 7, "expected an element like the first, an integer, found `2.0`"),
        ("{a=[1.0,2]}", 9, "expected a float like the first element, found `2`"),
        ("{a=[1.0 2.0]}", 9, "expected `]`, found `2.0`"),
        ("{a=[1 2]}", 7, "expected `]`, found `2`"),
        ("{a=[true]}", 5, "expected a number, found `true`"),
        ("{a=[[1]]}", 5, "expected a number, found `[`"),
    ],
)
def test_attribute_error_is_placed(attributes: str, column: int, message: str) -> None:
    check_error(f"{HEAD}%y = A(%x)\n{attributes}", 4, column, message)


@in_one_item(
    ("const", "column", "message"),
    [
        ("int8[2] ND", 23, "expected `=`, found `}`"),
        ("int8[2] ND = [1,2]", 25, "expected `splat`, `dense` or `opaque`, found `[`"),
        ("int8[2] ND = splat", 31, "expected an element of int8, an integer, found `}`"),
        ("int8[2] ND = splat 128", 31, "an element of int8 must be in [-128, 127], found `128`"),
        ("int4[2] ND = splat 8", 31, "an element of int4 must be in [-8, 7], found `8`"),
        ("uint8[2] ND = splat -1", 32, "an element of uint8 must be in [0, 255], found `-1`"),
        ("int8[2] ND = splat 1.0", 31, "expected an element of int8, an integer, found `1.0`"),
        ("bool[2] ND = splat 1", 31, "expected `true` or `false`, found `1`"),
        ("float16[2] ND = splat true", 34, "expected a number, found `true`"),
        ("float16[2] ND = splat 65520.0", 34, "`65520.0` is out of range for float16"),
        ("bfloat16[2] ND = splat -1e39", 35, "`-1e39` is out of range for bfloat16"),
        ("int8[2] ND = opaque", 32, "expected a label in quotes, found `}`"),
        ("int8[2] ND = dense 1", 31, "expected `[`, found `1`"),
        ("int8[2] ND = dense [1, x]", 35, "expected an element of int8, an integer, found `x`"),
        ("int8[2] ND = dense [1 2]", 34, "expected `,`, found `2`"),
        ("int8[2] ND = dense [1]", 31, "the number of elements of int8[2] ND is 2, found 1"),
        ("int8[2] ND = dense [1, 2, 3]", 31, "the number of elements of int8[2] ND is 2, found 3"),
        ("int8[] ND = dense []", 30, "the number of elements of int8[] ND is 1, found 0"),
        (
            "int8[0,9223372036854775807,9223372036854775807] ND = dense []",
            71,
            "no array can have the shape of int8[0,9223372036854775807,9223372036854775807] ND",
        ),
    ],
)
def test_constant_error_is_placed(const: str, column: int, message: str) -> None:
    check_error(f"{HEAD}const %c : {const} }}", 3, column, message)


def test_two_nodes_of_one_name_are_refused() -> None:
    text = f'{HEAD}%y = A() : int8[] ND name="n"\n%z = B() : int8[] ND  name="n"\n}}'
    check_error(text, 4, 28, 'a node called "n" exists already')
    text = f'{HEAD}%y = A() : int8[] ND name="A:z"\n%z = A() : int8[] ND\n}}'
    check_error(text, 4, 1, 'a node called "A:z" exists already')


def test_error_in_a_file_names_it() -> None:
    found = parse_error(f"{HEAD}  output %z\n", "dumps/01.ir")
    assert str(found.place) == "dumps/01.ir:3:10"
    assert found.help == "a value is defined above its first use"


def test_error_without_a_file_gives_line_and_column() -> None:
    assert str(parse_error("graph").place) == "1:6"


def test_message_cuts_a_long_token() -> None:
    message = parse_error(f"graph @g phase {'p' * 5000} {{").message
    assert message == f"unknown phase `{'p' * 40}...`"


def test_message_lists_what_is_known() -> None:
    found = parse_error(f"{HEAD}%y = A() : int8[] ND engine=gpu }}")
    assert found.help == "known are aicore, aicpu, local"


def test_comment_does_not_hide_the_column() -> None:
    check_error("graph @g # name\n# more\n\tphase low", 3, 8, "unknown phase `low`")
