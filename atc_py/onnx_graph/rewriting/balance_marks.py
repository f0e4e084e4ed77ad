"""The mark for values that have other numbers than in the float model, channel by channel."""

import json
from collections.abc import Iterable

from onnx import ModelProto

_KEY = "atc_py.balanced_values"
"""The key among the model's metadata whose value is a list of names, as JSON."""


def balance_mark(names: Iterable[str]) -> dict[str, str | None]:
    """The metadata that name values; none where there are no values."""
    found = sorted(set(names))
    return {_KEY: json.dumps(found, ensure_ascii=False) if found else None}


def balanced_values(proto: ModelProto) -> frozenset[str]:
    """The values that a model's metadata name; none for metadata that are something else."""
    texts = [each.value for each in proto.metadata_props if each.key == _KEY]
    try:
        found = json.loads(texts[0]) if texts else []
    except ValueError:
        found = []
    names = found if isinstance(found, list) else []
    return frozenset(name for name in names if isinstance(name, str))
