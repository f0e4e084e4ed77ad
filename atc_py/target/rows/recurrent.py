"""Recurrent layers: one layer over a whole sequence.

`DynamicRNN` and `DynamicGRUV2` are the AI Core's kernels: one direction, the usual activations.
`CommonLSTM` and `CommonGRU` are layers as graphs state them; CANN has no kernel of those and
always takes them apart, here what the other two cannot express runs on the AI CPU.
"""

from atc_py.target.kernels import on
from atc_py.target.row import Attribute, Column, Operand, TargetOp, Unit
from atc_py.target.rows.parts import (
    DIVISION,
    EXP,
    F16,
    F32,
    F64,
    I32,
    inputs,
)
from atc_py.target.soc import Resource
from atc_py.tensor.dtypes import DType


def _column(dtype: DType, lengths: int, operands: int, needs: Resource | None = None) -> Column:
    """All operands of one dtype, but for the lengths at position `lengths`."""
    before, after = (dtype,) * lengths, (dtype,) * (operands - lengths - 1)
    return Column((*before, I32, *after), (dtype,), needs)


def _kernel_columns(lengths: int, operands: int) -> tuple[Column, ...]:
    """Columns of float16, and of float32 where the SoC's cube has it."""
    return (
        _column(F16, lengths, operands),
        _column(F32, lengths, operands, Resource.CUBE_FLOAT32),
    )


_ONE_DIRECTION = (
    Attribute("direction", "string", "UNIDIRECTIONAL"),
    Attribute("cell_depth", "int", 1),
    Attribute("keep_prob", "float", 1.0),
    Attribute("cell_clip", "float", -1.0),
    Attribute("num_proj", "int", 0),
    Attribute("time_major", "bool", default=True),
    Attribute("activation", "string", "tanh"),
)

_LAYER = (
    Attribute("activation_alpha", "floats", ()),  # one per activation here, 0 where none is used
    Attribute("activation_beta", "floats", ()),
    Attribute("activations", "string", ""),  # a list in CANN; here joined by commas
    Attribute("clip", "float", -1.0),
    Attribute("direction", "string", "forward"),
    Attribute("hidden_size", "int"),
)

_GATES = tuple(Operand(name, optional=True) for name in ("i", "j", "f", "o", "tanhc"))
_GRU_GATES = tuple(
    Operand(name, optional=True) for name in ("update", "reset", "new", "hidden_new")
)
"""Outputs that training keeps; CANN always returns them, here nothing asks for them."""

ROWS = (
    TargetOp(
        "CommonGRU",
        inputs("x", "w", "r", "b?", "sequence_lens?", "initial_h?"),
        (Operand("y"), Operand("y_h")),
        Unit.VECTOR,
        "A layer of gated recurrent units, any activations, one or both directions.",
        attributes=(*_LAYER, Attribute("linear_before_reset", "int", 0)),
        aicpu=tuple(_column(dtype, 4, 6) for dtype in (F16, F32, F64)),
        family="recurrent",
        formula=(
            "z = f(x[t] Wz + h Rz + bz), r = f(x[t] Wr + h Rr + br)\n"
            "n = g(x[t] Wn + (r * h) Rn + bn), or r * (h Rn + bRn) where reset comes after the "
            "product\n"
            "h = (1 - z) * n + z * h"
        ),
        passes=3 + EXP + DIVISION,
    ),
    TargetOp(
        "CommonLSTM",
        inputs("x", "w", "r", "b?", "sequence_lens?", "initial_h?", "initial_c?", "p?"),
        (Operand("y"), Operand("y_h"), Operand("y_c")),
        Unit.VECTOR,
        "A layer of long short-term memory, any activations, one or both directions.",
        attributes=(*_LAYER, Attribute("input_forget", "int", 0)),
        aicpu=tuple(_column(dtype, 4, 8) for dtype in (F16, F32, F64)),
        family="recurrent",
        formula=(
            "i = f(x[t] Wi + h Ri + bi), fg = f(x[t] Wf + h Rf + bf), j = g(x[t] Wc + h Rc + "
            "bc)\n"
            "c = fg * c + i * j, o = f(x[t] Wo + h Ro + bo), h = o * h(c)"
        ),
        passes=3 + EXP + DIVISION,
    ),
    TargetOp(
        "DynamicGRUV2",
        inputs(
            "x", "weight_input", "weight_hidden", "bias_input?", "bias_hidden?", "seq_length?",
            "init_h?",
        ),
        (Operand("y"), Operand("output_h"), *_GRU_GATES),
        Unit.CUBE,
        "A layer of gated recurrent units in one direction.",
        attributes=(
            *_ONE_DIRECTION,
            Attribute("gate_order", "string", "zrh"),
            Attribute("reset_after", "bool", default=True),
            Attribute("is_training", "bool", default=True),
        ),
        columns=_kernel_columns(5, 7),
        kernels=on("310 310P 310B 610 910 A2 A3: ?; CS: -"),
        aicpu=tuple(_column(dtype, 5, 7) for dtype in (F32, F64)),
        family="recurrent",
        formula=(
            "z = f(x[t] Wz + h Rz + bz), r = f(x[t] Wr + h Rr + br)\n"
            "n = g(x[t] Wn + (r * h) Rn + bn), or r * (h Rn + bRn) where reset comes after the "
            "product\n"
            "h = (1 - z) * n + z * h"
        ),
        passes=3 + EXP + DIVISION,
    ),
    TargetOp(
        "DynamicRNN",
        inputs(
            "x", "w", "b", "seq_length?", "init_h?", "init_c?", "wci?", "wcf?", "wco?", "mask?"
        ),
        (Operand("y"), Operand("output_h"), Operand("output_c"), *_GATES),
        Unit.CUBE,
        "A layer of long short-term memory in one direction.",
        attributes=(
            Attribute("cell_type", "string", "LSTM"),
            *_ONE_DIRECTION,
            Attribute("use_peephole", "bool", default=False),
            Attribute("forget_bias", "float", 0.0),
            Attribute("gate_order", "string", "ijfo"),
            Attribute("is_training", "bool", default=True),
        ),
        columns=_kernel_columns(3, 9),
        kernels=on("310 310P 310B 610 910 CS: (f16 f16 f16 i32 f16 > f16); A2 A3: ?"),
        aicpu=tuple(_column(dtype, 3, 9) for dtype in (F32, F64)),
        family="recurrent",
        formula=(
            "i = f(x[t] Wi + h Ri + bi), fg = f(x[t] Wf + h Rf + bf), j = g(x[t] Wc + h Rc + "
            "bc)\n"
            "c = fg * c + i * j, o = f(x[t] Wo + h Ro + bo), h = o * h(c)"
        ),
        passes=3 + EXP + DIVISION,
    ),
)  # fmt: skip
