"""Recurrent layers: one layer over a whole sequence.

`DynamicRNN` and `DynamicGRUV2` are the AI Core's kernels: one direction, the usual activations.
`CommonLSTM` and `CommonGRU` are layers as graphs state them; CANN has no kernel of those and
always takes them apart, here what the other two cannot express runs on the AI CPU.
"""

from atc_py.target.kernels import on
from atc_py.target.row import Attribute, TargetOp, Unit
from atc_py.target.rows.parts import DIVISION, EXP, columns, operands
from atc_py.target.soc import Resource

_GRU, _LSTM = "T T T T i32 T > T", "T T T T i32 T T T > T"
_KERNEL_GRU, _KERNEL_LSTM = "T T T T T i32 T > T", "T T T i32 T T T T T > T"
"""Dtypes of operands, of which the lengths of sequences are int32."""

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

_GATED = (
    "z = f(x[t] Wz + h Rz + bz), r = f(x[t] Wr + h Rr + br)\n"
    "n = g(x[t] Wn + (r * h) Rn + bn), or r * (h Rn + bRn) where reset comes after the "
    "product\n"
    "h = (1 - z) * n + z * h"
)
_REMEMBERED = (
    "i = f(x[t] Wi + h Ri + bi), fg = f(x[t] Wf + h Rf + bf), j = g(x[t] Wc + h Rc + "
    "bc)\n"
    "c = fg * c + i * j, o = f(x[t] Wo + h Ro + bo), h = o * h(c)"
)
"""What units of GRU and of LSTM compute, step by step."""

ROWS = (
    TargetOp(
        "CommonGRU",
        *operands("x w r b? sequence_lens? initial_h? > y y_h"),
        "A layer of gated recurrent units, any activations, one or both directions.",
        attributes=(*_LAYER, Attribute("linear_before_reset", "int", 0)),
        aicpu=columns("f16 f32 f64", _GRU),
        family="recurrent",
        formula=_GATED,
        passes=3 + EXP + DIVISION,
    ),
    TargetOp(
        "CommonLSTM",
        *operands("x w r b? sequence_lens? initial_h? initial_c? p? > y y_h y_c"),
        "A layer of long short-term memory, any activations, one or both directions.",
        attributes=(*_LAYER, Attribute("input_forget", "int", 0)),
        aicpu=columns("f16 f32 f64", _LSTM),
        family="recurrent",
        formula=_REMEMBERED,
        passes=3 + EXP + DIVISION,
    ),
    TargetOp(
        "DynamicGRUV2",
        # The gates are outputs that training keeps; CANN always returns them, here nothing asks.
        *operands(
            "x weight_input weight_hidden bias_input? bias_hidden? seq_length? init_h? > "
            "y output_h update? reset? new? hidden_new?"
        ),
        "A layer of gated recurrent units in one direction.",
        unit=Unit.CUBE,
        attributes=(
            *_ONE_DIRECTION,
            Attribute("gate_order", "string", "zrh"),
            Attribute("reset_after", "bool", default=True),
            Attribute("is_training", "bool", default=True),
        ),
        columns=(
            *columns("f16", _KERNEL_GRU),
            *columns("f32", _KERNEL_GRU, Resource.CUBE_FLOAT32),
        ),
        kernels=on("310 310P 310B 610 910 A2 A3: ?; CS: -"),
        aicpu=columns("f32 f64", _KERNEL_GRU),
        family="recurrent",
        formula=_GATED,
        passes=3 + EXP + DIVISION,
    ),
    TargetOp(
        "DynamicRNN",
        *operands(
            "x w b seq_length? init_h? init_c? wci? wcf? wco? mask? > "
            "y output_h output_c i? j? f? o? tanhc?"
        ),
        "A layer of long short-term memory in one direction.",
        unit=Unit.CUBE,
        attributes=(
            Attribute("cell_type", "string", "LSTM"),
            *_ONE_DIRECTION,
            Attribute("use_peephole", "bool", default=False),
            Attribute("forget_bias", "float", 0.0),
            Attribute("gate_order", "string", "ijfo"),
            Attribute("is_training", "bool", default=True),
        ),
        columns=(
            *columns("f16", _KERNEL_LSTM),
            *columns("f32", _KERNEL_LSTM, Resource.CUBE_FLOAT32),
        ),
        kernels=on(
            "310 310P 310B 610 910 CS: (f16 f16 f16 i32 f16 > f16); A2 A3: ?; 950: "
            "(f16 f16 f16 i32 f16 > f16) (f32 f32 f32 i32 f32 > f32)"
        ),
        aicpu=columns("f32 f64", _KERNEL_LSTM),
        family="recurrent",
        formula=_REMEMBERED,
        passes=3 + EXP + DIVISION,
    ),
)
