"""The list of CANN 9.0 against a digest of its pages, read a second time and in another way."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from atc_py.spec import AttributeSpec, OperandSpec, OpSpec, Rule, library
from tests.failures import in_one_item
from tests.spec.every_list import parameters
from tests.spec.list_digest import DIGEST, SPELLINGS, Entry, default_in, entries, index_rows

pytestmark = pytest.mark.skipif(not DIGEST.is_dir(), reason="the digest of the pages is not here")

LIST = library("cann-9.0")
PAGES = parameters(spec for spec in LIST.all() if not spec.kept)

ALIASES = {
    "AffineGrid": {"size": "output_size"},
    "Mod": {"divisor": "B"},
    "Range": {"end": "limit", "step": "delta"},
}
"""Spellings of operands on pages, where they are not those of ONNX."""

RESHAPED = "bool float16 float32 float64 int16 int32 int64 int8 uint16 uint32 uint64 uint8"
RESULT = "the page repeats the dtypes of the input; ONNX has floats alone as random results"
INT64 = "the page lists int32 alone and says what values are where the result is int64"
PRODUCTS = "the page lists float32 alone and wants float16 on certain products"
OMITTED = "float32 is missing on the page and in older editions it is there"
WEIGHTS = "ONNX has one dtype for all three, and X may be float32"
NO_TENSOR = "no tensor here can have the other dtypes"
ONE_EACH = "one number for each axis of an image whose rank is not listed"

READINGS = {
    ("Abs", "number 16"): ("", "the page warns of a timeout and leaves half of the limits out"),
    ("ArgMin", "dtypes of out reduced"): ("int64", "ONNX has int64, and so has ArgMax's page"),
    ("AscendQuant", "dtypes of out y"): ("int16 int4 int8", "dst_type may name the other two"),
    ("AscendQuant", "number 1"): ("", "scale and offset have one element each as attributes"),
    ("AveragePool", "number 65504"): ("", "a result that the page warns of, no limit"),
    ("Cast", "dtypes of out output"): (
        "bool float16 float32 int16 int32 int64 int8 uint8",
        "the page takes any dtype in the attribute; dtypes of the input are results as well",
    ),
    ("Constant", "dtypes of out output"): ("any", "the page has all dtypes that tensors have here"),
    ("ConstantOfShape", "dtypes of out output"): ("any", "float32 is that of the default value"),
    ("Conv", "dtypes of in W"): ("float16 float32", WEIGHTS),
    ("Conv", "dtypes of in B"): ("float16 float32", WEIGHTS),
    ("ConvTranspose", "default of kernel_shape"): ("None", "8.0 has the filter's; 9.0 demands it"),
    ("DepthToSpace", "attributes"): ("blocksize mode", "data_format is no attribute of ONNX's"),
    ("Div", "number 0"): ("", "a remark on complex numbers, which the page does not list"),
    ("Dropout", "dtypes of out mask"): ("any", "before opset 10 ONNX's mask has the dtype of data"),
    ("Einsum", "dtypes of out Output"): ("float16 float32", "ONNX has one dtype, without int32"),
    ("Einsum", "number 20"): ("", "how many equations there are; another test compares them"),
    ("EyeLike", "default of dtype"): ("None", "float32 stands only for an unknown dtype of input"),
    ("GridSample", "default of interpolation_mode"): ("bilinear", "the page counts modes; 0 is it"),
    ("LayerNormalization", "dtypes of out Y"): ("float16", "ONNX has the dtype of X for Y"),
    ("LRN", "number 0"): ("", "that bias is above 0 is advice, no limit"),
    ("LpPool", "default of pads"): ("None", ONE_EACH),
    ("LpPool", "default of strides"): ("None", ONE_EACH),
    ("NonMaxSuppression", "dtypes of in boxes"): ("float16 float32", PRODUCTS),
    ("NonMaxSuppression", "dtypes of in scores"): ("float16 float32", PRODUCTS),
    ("NonMaxSuppression", "number 700"): (
        "",
        "the page warns of as many boxes, it does not refuse",
    ),
    ("OneHot", "dtypes of in indices"): ("int32 int64", INT64),
    ("OneHot", "dtypes of in depth"): ("int32 int64", INT64),
    ("OneHot", "dtypes of in values"): ("float16 float32 int32 int64", INT64),
    ("OneHot", "dtypes of out output"): (
        "float16 float32 int32 int64",
        "the page gives it the dtype of indices, ONNX that of values",
    ),
    ("RandomNormalLike", "dtypes of out output"): ("float16 float32 float64", RESULT),
    ("RandomUniformLike", "dtypes of out output"): ("float16 float32 float64", RESULT),
    ("Reshape", "dtypes of in data"): (RESHAPED, OMITTED),
    ("Reshape", "dtypes of out reshaped"): (RESHAPED, OMITTED),
    ("Reshape", "number -1"): ("", "the digest says that the page does not have it"),
    ("Selu", "number 1.0507"): ("", "the range around it, because attributes are float32"),
    ("Selu", "number 1.67326"): ("", "the range around it, because attributes are float32"),
    ("Shape", "dtypes of out shape"): ("int64", "ONNX has int64; when it is int32 is not said"),
    ("Split", "number 13"): ("", "the opset from which on split is an input"),
    ("TfIdfVectorizer", "dtypes of in X"): ("int32 int64", NO_TENSOR),
    ("TfIdfVectorizer", "unsupported pool_strings"): ("True", "X cannot hold strings here"),
    ("Tile", "dtypes of in input"): (RESHAPED, NO_TENSOR),
    ("Tile", "dtypes of out output"): (RESHAPED, NO_TENSOR),
}
"""Operator and fact that the file does not have as the page has it; the file's reading, and why."""

FLOORS = {
    "page": 160,
    "spelling": 160,
    "opsets": 160,
    "dtypes": 430,
    "attributes": 160,
    "default": 220,
    "unsupported": 220,
    "number": 120,
}
"""How many facts of each kind are compared at least."""


def _by_page() -> dict[str, list[Entry]]:
    """Return the entries of each page; some have two."""
    found: dict[str, list[Entry]] = {}
    for entry in entries(DIGEST):
        found.setdefault(entry.page, []).append(entry)
    return found


# Facts ------------------------------------------------------------------------------------------


def _facts(spec: OpSpec) -> Iterator[tuple[str, str, str]]:
    """Yield every fact of a page: its name, what the digest says, what the file says."""
    (row,) = (row for row in index_rows(DIGEST) if SPELLINGS.get(row.name, row.name) == spec.op)
    yield "page", row.page, spec.page or ""
    for entry in _by_page()[row.page]:
        yield "spelling", entry.title, spec.listed_as or spec.op
        yield from _opsets(spec, entry)
        yield from _dtypes(spec, entry)
        yield from _attributes(spec, entry)
        yield from _numbers(spec, entry)


def _opsets(spec: OpSpec, entry: Entry) -> Iterator[tuple[str, str, str]]:
    """Yield the opsets; those of custom operators stand in the notes."""
    listed = entry.opsets
    if not spec.custom:
        yield "opsets", _text(listed), _text(spec.opsets)
        return
    notes = spec.notes.en if spec.notes is not None else ""
    said = re.search(r"opsets (\d+) to\s+(\d+)", notes)
    yield "opsets", f"{min(listed)} to {max(listed)}", f"{said[1]} to {said[2]}" if said else ""


def _dtypes(spec: OpSpec, entry: Entry) -> Iterator[tuple[str, str, str]]:
    """Yield the dtypes of each operand of which the digest says any."""
    inputs = _said(spec, entry, "in", spec.inputs)
    first = re.sub(r"\W.*", "", entry.lines["in"])
    inputs |= {name: next(iter(inputs.values()), set()) for name in (first, "input", "-")}
    for key, rows in (("in", spec.inputs), ("out", spec.outputs)):
        for name, listed in _said(spec, entry, key, rows).items():
            plain: set[str] = set()
            for each in listed:
                other = each.removeprefix("same ")
                plain |= inputs.get(other, set()) if other != each else {each}
            (row,) = (row for row in rows if row.name == name)
            own = {dtype.value for dtype in spec.dtypes_of(row) or ()} or {"any"}
            if plain and not any(each.startswith("same ") for each in plain):
                yield f"dtypes of {key} {name}", _text(sorted(plain)), _text(sorted(own))


def _said(spec: OpSpec, entry: Entry, key: str, rows: Sequence[OperandSpec]) -> dict[str, set[str]]:
    names = [row.name for row in rows]
    return entry.operands(key, names, ALIASES.get(spec.op, {}))


def _attributes(spec: OpSpec, entry: Entry) -> Iterator[tuple[str, str, str]]:
    """Yield the names of the attributes, their defaults, and whether they are supported."""
    listed = entry.attributes()
    rows = {row.listed_as or row.name: row for row in spec.attributes if row.listed}
    elsewhere = entry.lines["rules"] + entry.lines["in"]
    own = {name for name in rows if name in listed or not re.search(rf"\b{name}\b", elsewhere)}
    yield "attributes", _text(sorted(listed)), _text(sorted(own))
    for name, clause in listed.items():
        row = rows.get(name)
        if row is not None:
            yield f"default of {name}", *_defaults(row, default_in(clause))
            unsupported = re.search("not supported yet|^[^,]* not supported", clause) is not None
            yield f"unsupported {name}", str(unsupported), str(not row.supported)


def _defaults(row: AttributeSpec, said: str | None) -> tuple[str, str]:
    """Return the default as the digest and as the file says it; where no page says one, none."""
    own = row.default if row.listed_default is None else row.listed_default
    if said is None:
        return "", "" if row.listed_default is None else _text(own)
    words = re.findall(r"[^\s,\[\]]+", said)
    values: list[Any] = [_value(word) for word in words]
    if isinstance(own, tuple) and not said.startswith("["):
        values *= len(own)
    return _text(values), _text(own if isinstance(own, tuple) else [own])


def _numbers(spec: OpSpec, entry: Entry) -> Iterator[tuple[str, str, str]]:
    """Yield the numbers of attributes and rules, which a row of the file should have."""
    limits = [*map(_limits, spec.attributes), *map(_limits, spec.constraints)]
    plain = msgspec.json.encode(limits).decode().replace("-inf", "").replace("->", " ")
    own = {float(number) for number in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?", plain)}
    for number in sorted(entry.numbers("attrs") | entry.numbers("rules")):
        yield f"number {number:g}", f"{number:g}", f"{number:g}" if number in own else ""


def _limits(row: AttributeSpec | Rule) -> dict[str, Any]:
    """Return the parts of a row that hold numbers of the page."""
    parts = {name: getattr(row, name) for name in row.__struct_fields__}
    return {name: part for name, part in parts.items() if name not in {"line", "since", "until"}}


def _value(word: str) -> Any:
    """Return a number or truth value of the digest; other words as they are."""
    if word in {"true", "false"}:
        return float(word == "true")
    try:
        return float(word)
    except ValueError:
        return word


def _text(values: Any) -> str:
    """Return values as text; numbers all in one form."""
    rows = values if isinstance(values, list | tuple) else [values]
    return " ".join(f"{each:g}" if isinstance(each, int | float) else str(each) for each in rows)


# Every page -------------------------------------------------------------------------------------


@in_one_item("spec", PAGES)
def test_file_says_what_the_page_says(spec: OpSpec) -> None:
    differing = {name: (said, own) for name, said, own in _facts(spec) if said != own}
    read = {fact: own for (op, fact), (own, _) in READINGS.items() if op == spec.op}
    wrong = {name: pair for name, pair in differing.items() if read.get(name) != pair[1]}
    assert not wrong, wrong
    assert set(read) <= set(differing), "the page and the file agree; the exception can go"


def test_readings_have_reasons() -> None:
    assert {op for op, _ in READINGS} <= {spec.op for spec in LIST.all()}
    assert all(len(why.split()) > 3 for _, why in READINGS.values())


def test_equations_of_einsum_are_those_of_the_page() -> None:
    (entry,) = (entry for entry in entries(DIGEST) if entry.name == "Einsum")
    spec = LIST.find("Einsum")
    assert spec is not None
    (rule,) = (rule for rule in spec.constraints if rule.name == "equation_one_of")
    equations = re.findall(r"[a-z]+,[a-z]+->[a-z]+", entry.rules)
    assert rule.arguments["one_of"] == tuple(dict.fromkeys(equations))


def test_so_many_facts_are_compared() -> None:
    count = Counter(name.split()[0] for case in PAGES for name, _, _ in _facts(case.values[0]))
    short = {kind: (count[kind], floor) for kind, floor in FLOORS.items() if count[kind] < floor}
    assert not short
    assert set(count) == set(FLOORS)
