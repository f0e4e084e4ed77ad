"""Specifications without limits, for tests of what lowering can do beyond the operator list.

What the list forbids never reaches lowering, unless a user's own specifications allow it: these
are such, made from the built-in ones.
"""

import functools
import tempfile
from pathlib import Path
from typing import Any

import onnx
import yaml

from atc_py.spec import stem_of
from atc_py.spec.lists import operator_lists
from atc_py.system.cache_folders import op_specs_dir

_OPERAND_LIMITS = ("rank", "layout", "supported", "otherwise", "rewrite")
_ATTRIBUTE_LIMITS = ("one_of", "range", "each", "supported", "otherwise", "rewrite")


def relaxed_specs(model: onnx.ModelProto) -> Path:
    """Return a folder with specifications of the model's operators that limit dtypes alone."""
    return _folder(frozenset(node.op_type for node in model.graph.node))


@functools.cache
def _folder(operators: frozenset[str]) -> Path:
    """Return the folder for some operators; it lasts as long as the process."""
    folder = Path(_temporary().name) / "_".join(sorted(operators))
    folder.mkdir()
    for operator in operators:
        path = _file_of(operator)
        spec = _relaxed(yaml.safe_load(path.read_text(encoding="utf-8")))
        text = yaml.safe_dump(spec, allow_unicode=True, sort_keys=False)
        (folder / path.name).write_text(text, encoding="utf-8")
    return folder


def _file_of(operator: str) -> Path:
    """Return the file of an operator in the first list that has it."""
    found = (
        path
        for each in operator_lists()
        for path in op_specs_dir().glob(f"{each.name}/*/{stem_of(operator)}.yaml")
    )
    return next(found)


@functools.cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    """Return the parent of the folders; it is removed with the process."""
    return tempfile.TemporaryDirectory(prefix="relaxed-specs-")


def _relaxed(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the specification without its limits."""
    spec.pop("constraints", None)
    for row in (*spec["inputs"], *spec["outputs"]):
        for key in _OPERAND_LIMITS:
            row.pop(key, None)
    for row in spec.get("attributes", ()):
        for key in _ATTRIBUTE_LIMITS:
            row.pop(key, None)
    return spec
