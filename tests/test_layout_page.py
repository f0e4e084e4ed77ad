"""docs/layout.md: its examples hold, and its table has every storage format."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from atc_py.ir.parser import parse_graph
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.packing import pack
from atc_py.tensor.storage import BLOCKED_FORMATS, Storage, c0_of

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "layout.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_types_of_the_page_are_types() -> None:
    lines = [line.split("   ")[0].strip() for line in blocks("text")[0].splitlines()]
    types = [re.match(r"\S+ \S+", line) for line in lines]
    assert len(types) == 3
    for found in types:
        assert found
        graph = parse_graph(f"graph @g phase laid_out {{ input %x : {found[0]} }}")
        kind = graph.inputs[0].type
        assert kind.storage is not None
        assert kind.stored_dims


def test_example_of_packing_runs() -> None:
    (code,) = blocks("python")
    filters = np.arange(64 * 32 * 9).astype(np.float16).reshape(64, 32, 3, 3)
    names: dict[str, Any] = {"filters": filters}
    exec(code, names)  # noqa: S102  (the page's own example)
    stored = re.search(r"-> float16\[(.*?)\]", code)
    assert stored
    assert names["packed"].shape == tuple(map(int, stored[1].split(",")))
    np.testing.assert_array_equal(names["filters"], filters)


def test_table_has_every_storage_format() -> None:
    rows = re.findall(r"^\| `(\w+)", PAGE, re.MULTILINE)
    assert {form.value for form in BLOCKED_FORMATS} <= set(rows)


def test_depths_of_blocks_are_those_of_the_page() -> None:
    assert "32 for int8 and uint8, 64 for int4, and 16 for all others" in PAGE
    deep = {dtype.value: c0_of(dtype) for dtype in DType if c0_of(dtype) != 16}
    assert deep == {"int8": 32, "uint8": 32, "int4": 64}


def element(rule: str, names: dict[str, int]) -> tuple[int, ...]:
    """Return the position that a rule of the table gives, with rounded quotients."""
    text = re.sub(r"\) H \+ h\) W \+ w", ") * H + h) * W + w", rule).replace("/", "//")
    found = eval(f"({text},)", {}, names)  # noqa: S307  (the page's own rule)
    return tuple(found)


def test_rules_of_the_page_are_those_of_the_packing() -> None:
    """Check a tensor with one element that is not zero: it is where the page says."""
    names = {"n": 17, "c": 35, "h": 1, "w": 2, "N": 20, "C": 40, "H": 3, "W": 4, "C0": 16}
    for form, of in ((Format.NC1HWC0, "images"), (Format.FRACTAL_Z, "filters")):
        (rule,) = re.findall(rf"^\| `{form.value}` \| {of} .*? at \[(.*?)\] \|", PAGE, re.MULTILINE)
        array = np.zeros((20, 40, 3, 4), np.float16)
        array[17, 35, 1, 2] = 1
        packed = pack(array, Format.NCHW, Storage(form))
        assert tuple(np.argwhere(packed)[0]) == element(rule, names)
