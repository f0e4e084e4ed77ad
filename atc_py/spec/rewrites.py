"""Rewrites of nodes that the list forbids: their names and words, and the code of each.

A rewrite is found by its name. Its words are in REWRITES; its condition is the rule of a
specification that names it; its code is what `performs` has registered, in lowering or in a pass.
To add one, add its words here, in both tables, name it in a rule, and put `@performs("its-name")` on the function
that does it: tests hold the three together.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from atc_py.text import Text

Function = TypeVar("Function", bound="Callable[..., Any]")

REWRITES: dict[str, Text] = {
    "add-bias": Text("C is added after the product, scaled by beta"),
    "align-ranks": Text("the tensor is reshaped to the rank listed, which changes no value"),
    "broadcast-operands": Text("the smaller operand is broadcast to the shape of the larger one"),
    "cast-through": Text(
        "the tensor is cast to a listed dtype that holds its values exactly, and back"
    ),
    "count-from-front": Text("negative positions are counted from the front"),
    "dissolve": Text("the node needs no kernel and dissolves, whatever the dtype"),
    "drop-training-only": Text("it has no effect on inference and is dropped"),
    "exclude-padding": Text("the target operator's own attribute says whether pads are counted"),
    "explicit-pads": Text("automatic pads are computed and written as explicit ones"),
    "gather-steps": Text("the positions that the steps reach are gathered"),
    "narrow-indices": Text("indices are narrowed to int32"),
    "pool-as-images": Text(
        "a signal is pooled as an image of one row, a volume over height and width and then "
        "over depth"
    ),
    "reshape-instead": Text("the node is written as a Reshape, which takes any dtype"),
    "restate": Text("the node is restated at a listed opset, where it means the same"),
    "scale-operands": Text("the factor is multiplied into an operand"),
    "split-groups": Text(
        "the convolution keeps its groups in one launch (on sim: is split by groups), or "
        "becomes a depthwise one"
    ),
    "write-out-equation": Text(
        "the equation is read as ONNX defines it: blanks mean nothing, and without an arrow "
        "the result has the letters that occur once"
    ),
}
"""Effect of each rewrite by name, a clause without a final period."""

EFFECTS: dict[str, Text] = {
    "add-bias": Text("will be added after the product"),
    "align-ranks": Text("will be reshaped to the rank listed"),
    "broadcast-operands": Text("will be broadcast"),
    "cast-through": Text("will be cast to a listed dtype and back"),
    "count-from-front": Text("will be counted from the front"),
    "dissolve": Text("will dissolve, for it needs no kernel"),
    "drop-training-only": Text("will be dropped"),
    "exclude-padding": Text("will be an attribute of the target operator"),
    "explicit-pads": Text("will be written as explicit pads"),
    "gather-steps": Text("will be gathered"),
    "narrow-indices": Text("will be narrowed to int32"),
    "pool-as-images": Text("will be pooled as images"),
    "reshape-instead": Text("will be written as Reshape"),
    "restate": Text("will be restated at a listed opset"),
    "scale-operands": Text("will be multiplied into an operand"),
    "split-groups": Text("will be split"),
    "write-out-equation": Text("will be written out"),
}
"""What becomes of the form that a rewrite takes away, by name: the predicate of a headline."""

_PERFORMERS: dict[str, list[Callable[..., Any]]] = {}


def performs(name: str) -> Callable[[Function], Function]:
    """Register a function as code of the rewrite `name`; a rewrite may need several."""
    if name not in REWRITES:
        raise ValueError(f"no rewrite is called {name!r}; add its words to REWRITES")

    def register(function: Function) -> Function:
        _PERFORMERS.setdefault(name, []).append(function)
        return function

    return register


def performers(name: str) -> tuple[Callable[..., Any], ...]:
    """The registered code of the rewrite `name`; empty until its modules are imported."""
    return tuple(_PERFORMERS.get(name, ()))
