"""Structs that the Python interface takes and returns: `help` and tools can read their fields."""

import importlib
import inspect
import pydoc
from pathlib import Path

import pytest

import atc_py
from atc_py.system.structs import Result, replace

PACKAGE = Path(atc_py.__file__).parent

for _each in PACKAGE.rglob("*.py"):
    if "structs import Result" in _each.read_text(encoding="utf-8"):
        _parts = _each.relative_to(PACKAGE.parent).with_suffix("").parts
        importlib.import_module(".".join(_parts))

KINDS = sorted(Result.__subclasses__(), key=lambda each: each.__name__)


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.__name__)
def test_fields_can_be_looked_up(kind: type[Result]) -> None:
    assert list(inspect.signature(kind).parameters) == list(kind.__struct_fields__)
    assert kind.__name__ in pydoc.render_doc(kind)


def test_replace_makes_a_new_one() -> None:
    from atc_py.results.conversion import Stage

    stage = Stage("read", 1.0)
    assert replace(stage, seconds=2.0) == Stage("read", 2.0)
    with pytest.raises(TypeError):
        replace(stage, second=2.0)  # type: ignore[call-arg]
