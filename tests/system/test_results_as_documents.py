"""Results are documents of themselves."""

import math
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import msgspec

from atc_py.diag.codes import BAD_OPTION
from atc_py.system.json_text import plain_values
from atc_py.system.structs import Ratio, Result, Share, replace
from atc_py.text import Text
from tests.document_schemas import DocumentTypes


class Color(Enum):
    RED = "red"


class Part(Result, frozen=True):
    """A part."""

    ratio: Ratio
    share: Share | None = None


class Whole(Result, frozen=True):
    """A whole."""

    path: Path = msgspec.field(name="file")
    color: Color
    parts: tuple[Part, ...]
    pair: tuple[float, float]
    reason: Text
    why: Text = msgspec.field(default=Text(""))
    hidden: int = msgspec.field(name="_hidden", default=1)


WHOLE = Whole(Path("a/b"), Color.RED, (Part(math.inf), Part(2.0, 0.5)), (0.0, 1.0), Text("yes"))


def test_fields_are_named_as_in_documents_and_hold_what_json_has() -> None:
    assert WHOLE.as_json() == {
        "file": "a/b",
        "color": "red",
        "parts": [{"ratio": None, "share": None}, {"ratio": 2.0, "share": 0.5}],
        "pair": [0.0, 1.0],
        "reason": Text("yes").as_json(),
        "why": None,
    }
    assert [*WHOLE.as_json()] == ["file", "color", "parts", "pair", "reason", "why"]


def test_plain_values_are_english() -> None:
    assert plain_values({"a": (Part(math.nan),), "b": Text("yes")}) == {
        "a": [{"ratio": None, "share": None}],
        "b": "yes",
    }


def test_schema_follows_from_a_result() -> None:
    types = DocumentTypes({Path: str, Text: str}, {Part: "Piece"}, {Part: "One of them."})
    schema = msgspec.json.schema(types.of(Whole))["$defs"]
    assert schema["Piece"]["description"] == "One of them."
    assert schema["Piece"]["properties"]["ratio"]["anyOf"] == [{"type": "number"}, {"type": "null"}]
    whole = schema["Whole"]
    assert whole["required"] == ["file", "color", "parts", "pair", "reason", "why"]
    assert whole["properties"]["pair"]["maxItems"] == 2
    assert whole["properties"]["color"] == {"type": "string"}
    assert not whole["additionalProperties"]


@dataclass(frozen=True)
class Plain:
    number: int


def test_replace_copies_structs_and_dataclasses() -> None:
    assert replace(Part(1.0), ratio=2.0) == Part(2.0)
    assert replace(Plain(1), number=2) == Plain(2)


def test_diagnostics_in_results_say_themselves() -> None:
    class Warned(Result, frozen=True):
        warnings: tuple[object, ...]

    (warning,) = Warned((BAD_OPTION.diagnostic(Text("odd")),)).as_json()["warnings"]
    assert (warning["code"], warning["message"]) == (BAD_OPTION.id, "odd")
