"""Names: from an operator's type to the stem of its file, and the form in which names compare."""

import re

_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def stem_of(op_type: str) -> str:
    """The stem of an operator's file: its type in snake case.

    `BatchNormalization` is `batch_normalization`, `PRelu` is `p_relu`, `GatherND` is `gather_nd`,
    `AdaptiveMaxPool2D` is `adaptive_max_pool2d`; a digit does not start a word.
    """
    return _WORD_START.sub("_", op_type).lower()


def folded(name: str) -> str:
    """`name` without case and underscores, the form in which spellings are compared."""
    return name.replace("_", "").lower()
