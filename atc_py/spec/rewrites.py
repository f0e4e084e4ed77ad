"""Rewrites of nodes that the list forbids: their names and words, and the code of each.

A rewrite is found by its name. Its words are in REWRITES; its condition is the rule of a
specification that names it; its code is what `performs` has registered, in lowering or in a pass.
To add one, add its words here, in both tables, name it in a rule, and put `@performs("its-name")` on the function
that does it: tests hold the three together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from atc_py.diag import Words

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EFFECTS", "REWRITES", "performers", "performs"]

Function = TypeVar("Function", bound="Callable[..., Any]")

REWRITES: dict[str, Words] = {
    "add-bias": Words(
        "C is added after the product, scaled by beta",
        "C 乘以 beta 后加到乘积上",
    ),
    "align-ranks": Words(
        "the tensor is reshaped to the rank listed, which changes no value",
        "将张量变形为清单要求的秩，数值不变",
    ),
    "broadcast-operands": Words(
        "the smaller operand is broadcast to the shape of the larger one",
        "将较小的操作数广播到较大者的形状",
    ),
    "cast-through": Words(
        "the tensor is cast to a listed dtype that holds its values exactly, and back",
        "先转换为能精确表示其值的清单类型，再转换回来",
    ),
    "count-from-front": Words(
        "negative positions are counted from the front",
        "将从末尾计数改为从开头计数",
    ),
    "dissolve": Words(
        "the node needs no kernel and dissolves, whatever the dtype",
        "该节点不需要内核，与数据类型无关，直接消去",
    ),
    "drop-training-only": Words(
        "it has no effect on inference and is dropped",
        "对推理没有影响，直接略去",
    ),
    "exclude-padding": Words(
        "the target operator's own attribute says whether pads are counted",
        "改用目标算子自己的属性表示是否计入填充",
    ),
    "explicit-pads": Words(
        "automatic pads are computed and written as explicit ones",
        "计算出自动填充的大小，改写为显式 pads",
    ),
    "gather-steps": Words(
        "the positions that the steps reach are gathered",
        "改为按步长所到的位置收集元素",
    ),
    "narrow-indices": Words(
        "indices are narrowed to int32",
        "将下标转换为 int32",
    ),
    "pool-as-images": Words(
        "a signal is pooled as an image of one row, a volume over height and width and then over depth",
        "一维信号按单行图像池化，三维数据先沿高、宽再沿深度池化",
    ),
    "reshape-instead": Words(
        "the node is written as a Reshape, which takes any dtype",
        "改写为可接受任意数据类型的 Reshape",
    ),
    "restate": Words(
        "the node is restated at a listed opset, where it means the same",
        "将该节点改写为清单所列 opset 的形式，含义相同",
    ),
    "scale-operands": Words(
        "the factor is multiplied into an operand",
        "将系数乘入操作数",
    ),
    "split-groups": Words(
        "the convolution keeps its groups in one launch (on sim: is split by groups), or becomes a "
        "depthwise one",
        "卷积保留分组、一次下发（sim 上按组拆分），或改写为逐通道卷积",
    ),
    "write-out-equation": Words(
        "the equation is read as ONNX defines it: blanks mean nothing, and without an arrow the "
        "result has the letters that occur once",
        "按 ONNX 的定义读取等式：忽略空格；没有箭头时，结果为只出现一次的字母",
    ),
}
"""Effect of each rewrite by name, a clause without a final period."""

EFFECTS: dict[str, Words] = {
    "add-bias": Words("will be added after the product", "将在乘积之后相加"),
    "align-ranks": Words("will be reshaped to the rank listed", "将变形为清单要求的秩"),
    "broadcast-operands": Words("will be broadcast", "将广播"),
    "cast-through": Words(
        "will be cast to a listed dtype and back", "将转换为清单类型后再转换回来"
    ),
    "count-from-front": Words("will be counted from the front", "将改为从开头计数"),
    "dissolve": Words("will dissolve, for it needs no kernel", "无需内核，将消去"),
    "drop-training-only": Words("will be dropped", "将略去"),
    "exclude-padding": Words("will be an attribute of the target operator", "将写为目标算子的属性"),
    "explicit-pads": Words("will be written as explicit pads", "将改写为显式 pads"),
    "gather-steps": Words("will be gathered", "将改为收集元素"),
    "narrow-indices": Words("will be narrowed to int32", "将转换为 int32"),
    "pool-as-images": Words("will be pooled as images", "将按图像池化"),
    "reshape-instead": Words("will be written as Reshape", "将改写为 Reshape"),
    "restate": Words("will be restated at a listed opset", "将改写为清单所列 opset 的形式"),
    "scale-operands": Words("will be multiplied into an operand", "将乘入操作数"),
    "split-groups": Words("will be split", "将拆分"),
    "write-out-equation": Words("will be written out", "将写成完整形式"),
}
"""What becomes of the form that a rewrite takes away, by name: the predicate of a headline."""

_PERFORMERS: dict[str, list[Callable[..., Any]]] = {}


def performs(name: str) -> Callable[[Function], Function]:
    """Register a function as code of the rewrite `name`; a rewrite may need several.

    Raises:
        ValueError: no rewrite is called that.
    """
    if name not in REWRITES:
        raise ValueError(f"no rewrite is called {name!r}; add its words to REWRITES")

    def register(function: Function) -> Function:
        _PERFORMERS.setdefault(name, []).append(function)
        return function

    return register


def performers(name: str) -> tuple[Callable[..., Any], ...]:
    """Return the registered code of the rewrite `name`; empty until its modules are imported."""
    return tuple(_PERFORMERS.get(name, ()))
