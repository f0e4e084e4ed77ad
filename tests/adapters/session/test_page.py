"""The tables of members: complete, true, and what the page shows."""

from typing import Any

import onnxruntime
import pytest

from atc_py import AtcError, InferenceSession
from atc_py.adapters.session.binding import SessionBinding
from atc_py.options.keywords import ConvertKeywords
from tests.adapters.session.models import layer
from tests.derived_docs import DOCS, render
from tests.derived_session import ARGUMENTS, BINDING, IGNORED, MEMBERS, OPTIONS, REFUSED


def public(kind: type) -> set[str]:
    """Return the names of a class's public members."""
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (onnxruntime.InferenceSession, MEMBERS),
        (onnxruntime.IOBinding, BINDING),
        (onnxruntime.SessionOptions, OPTIONS),
    ],
)
def test_every_member_of_onnxruntime_has_a_row(kind: type, rows: Any) -> None:
    names = [row.name for row in rows]
    assert len(set(names)) == len(names)
    assert public(kind) <= set(names)


def test_every_supported_member_is_there() -> None:
    session = InferenceSession(layer().SerializeToString())
    for row in (*MEMBERS, *BINDING):
        kind: Any = InferenceSession if row in MEMBERS else SessionBinding
        assert (row.standing == REFUSED) != hasattr(kind, row.name), row.name
    for row in MEMBERS:
        if row.standing == REFUSED:
            with pytest.raises(AtcError, match=f"sessions have no {row.name}") as caught:
                getattr(session, row.name)("anything", more=1)
            assert caught.value.diagnostics[0].code.id == "ATC1040"


def test_ignored_member_does_nothing() -> None:
    session: Any = InferenceSession(layer().SerializeToString())
    given: dict[str, list[Any]] = {
        "set_providers": [["CPUExecutionProvider"]],
        "set_ep_dynamic_options": [{}],
    }
    for row in MEMBERS:
        if row.standing == IGNORED:
            assert not getattr(session, row.name)(*given.get(row.name, []))


def test_unknown_member_is_an_attribute_error() -> None:
    session = InferenceSession(layer().SerializeToString())
    assert not hasattr(session, "nothing_of_the_kind")


def test_arguments_are_those_of_the_constructor() -> None:
    import inspect

    known = set(inspect.signature(InferenceSession.__init__).parameters) - {"self", "keywords"}
    rows = {row.name for row in ARGUMENTS}
    assert known <= rows
    assert rows - known == {"enable_fallback", "precision_mode, fix, ..."}
    assert {"precision_mode", "fix"} <= ConvertKeywords.__annotations__.keys()


def test_page_is_current() -> None:
    text = (DOCS / "inference-session.md").read_text(encoding="utf-8")
    assert text == render("inference-session.md")
