"""Forms of operators that ONNX's own evaluator gets wrong, each with the reason."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import onnx

FINITE = frozenset({"Conv", "MaxPool", "ReduceLogSumExp", "Resize"})
"""Operators of which the evaluator loses NaN and infinities, or spreads them over other elements."""

SINCE = {
    "BatchNormalization": 14,  # before, the evaluator trains where the model infers
    "Hardmax": 13,  # before, all axes after `axis` counted too; the evaluator takes one axis
    "LogSoftmax": 13,
    "RoiAlign": 16,  # before, there was no half-pixel shift
    "Softmax": 13,
}
"""Operators whose older definitions the evaluator does not follow, and the first that it does."""

_LENGTHS = 4
"""Input of recurrent layers with the length of each sequence."""

_SIZES = 3
"""Input of Resize with the dims of the result."""


class _Form:
    """A node as its faults read it."""

    def __init__(self, node: onnx.NodeProto) -> None:
        self._inputs = list(node.input)
        self._attributes = {each.name: each for each in node.attribute}

    def has(self, position: int) -> bool:
        """True if the node has an input."""
        return bool("".join(self._inputs[position : position + 1]))

    def is_set(self, *names: str) -> bool:
        """True if the node states one of these attributes."""
        return any(name in self._attributes for name in names)

    def integer(self, name: str, default: int = 0) -> int:
        return self._attributes[name].i if name in self._attributes else default

    def text(self, name: str) -> str:
        found = self._attributes[name].s if name in self._attributes else b""
        return found.decode("utf-8", "replace")

    def departs(self, name: str, plain: int) -> bool:
        """True if one number of a list is not `plain`."""
        found = self._attributes[name].ints if name in self._attributes else ()
        return any(each != plain for each in found)

    @property
    def is_padded_by_name(self) -> bool:
        """True if auto_pad says how X is padded."""
        return self.text("auto_pad") not in {"", "NOTSET"}


class _Fault(NamedTuple):
    """One operator.

    Attributes:
        reason: the fault, as a clause whose subject is the evaluator.
        shows: returns whether the form of a node shows it; other forms are right, or right but for
            some values.
    """

    reason: str
    shows: Callable[[_Form], bool]


def _of_mean(form: _Form) -> bool:
    """True for windows that overhang, or that are dilated within automatic pads."""
    dilated = form.departs("dilations", 1) and form.is_padded_by_name
    return form.integer("ceil_mode") != 0 or dilated


def _of_maximum(form: _Form) -> bool:
    """True for the pads that MaxPool gets wrong, which depend on its steps."""
    stepped = form.departs("dilations", 1) or form.departs("strides", 1)
    if form.is_padded_by_name:
        return stepped or form.integer("ceil_mode") != 0
    return form.departs("pads", 0) and not stepped


def _of_transposed(form: _Form) -> bool:
    """True for groups with a bias, a stated shape and automatic pads."""
    grouped = form.integer("group", 1) != 1 and form.has(2)
    return grouped or form.is_set("output_shape") or form.is_padded_by_name


def _of_recurrence(form: _Form) -> bool:
    """True for sequences of different lengths, and what limits or replaces activations."""
    return form.has(_LENGTHS) or form.is_set("activations", "clip", "input_forget")


def _of_resize(form: _Form) -> bool:
    """True if scales give the length that coordinates depend on."""
    lengths = {"align_corners", "half_pixel_symmetric", "tf_crop_and_resize"}
    return not form.has(_SIZES) and form.text("coordinate_transformation_mode") in lengths


def _of_samples(form: _Form) -> bool:
    """True for cubic places beyond a border, whose pixels count one by one."""
    return "cubic" in form.text("mode") and form.text("padding_mode") == "border"


_NO_LENGTHS = "reads neither sequence_lens nor activations"

FAULTY: Mapping[str, _Fault] = {
    "AveragePool": _Fault("miscounts where ceil_mode lets a window overhang", _of_mean),
    "ConvTranspose": _Fault(
        "is wrong with groups and a bias, and for output_shape", _of_transposed
    ),
    "GRU": _Fault(_NO_LENGTHS, _of_recurrence),
    "GridSample": _Fault("moves cubic places to the border", _of_samples),
    "LRN": _Fault("sums over as many channels as there are images", lambda _: True),
    "LSTM": _Fault(_NO_LENGTHS, _of_recurrence),
    "LogSoftmax": _Fault("takes the logarithm of a softmax, which may be 0", lambda _: False),
    "LpNormalization": _Fault(
        "takes no absolute value for p = 1", lambda form: form.integer("p", 2) == 1
    ),
    "LpPool": _Fault("miscounts where ceil_mode lets a window overhang", _of_mean),
    "MaxPool": _Fault("loses windows in the padding", _of_maximum),
    "Optional": _Fault("makes a list of the value", lambda form: form.has(0)),
    "RNN": _Fault(_NO_LENGTHS, _of_recurrence),
    "Resize": _Fault("takes the length of the result for a fraction of scales", _of_resize),
    "SequenceInsert": _Fault("puts what comes last at the front", lambda form: form.has(2)),
    "SoftmaxCrossEntropyLoss": _Fault("takes a negative label for a class", lambda _: False),
}
"""Operators that the evaluator gets wrong in some form, or for some values."""


def fault_of(node: onnx.NodeProto, opset: int) -> str:
    """Return what the evaluator does wrong with the form of a node; "" for nothing.

    Args:
        node: the node; the graphs in it are not looked into.
        opset: version of ONNX's operators that it imports.
    """
    if node.domain not in {"", "ai.onnx"}:
        return ""
    if opset < SINCE.get(node.op_type, 0):
        return f"follows the definition of opset {SINCE[node.op_type]}"
    fault = FAULTY.get(node.op_type)
    return fault.reason if fault is not None and fault.shows(_Form(node)) else ""
