"""Recurrent layers: one layer over a whole sequence.

`DynamicRNN` and `DynamicGRUV2` are the AI Core's kernels: one direction, the usual activations.
`CommonLSTM` and `CommonGRU` are layers as graphs state them; CANN has no kernel of those and
always takes them apart, here what the other two cannot express runs on the AI CPU.
"""

from functools import partial

from atc_py.target.kernels import Kernels
from atc_py.target.row import Attribute, Unit
from atc_py.target.rows.parts import DIVISION, EXP, attributes, columns, operator
from atc_py.target.soc import Resource

_GRU, _LSTM = "T T T T i32 T > T", "T T T T i32 T T T > T"
_KERNEL_GRU, _KERNEL_LSTM = "T T T T T i32 T > T", "T T T i32 T T T T T > T"
"""Dtypes of operands, of which the lengths of sequences are int32."""

_ONE_DIRECTION = attributes(
    direction="UNIDIRECTIONAL",
    cell_depth=1,
    keep_prob=1.0,
    cell_clip=-1.0,
    num_proj=0,
    time_major=True,
    activation="tanh",
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

_layer = partial(operator, family="recurrent", passes=3 + EXP + DIVISION)

ROWS = (
    _layer(
        "CommonGRU",
        "A layer of gated recurrent units, any activations, one or both directions.",
        "x w r b? sequence_lens? initial_h? > y y_h",
        form=_GRU,
        attributes=(*_LAYER, *attributes(linear_before_reset=0)),
        aicpu="f16 f32 f64",
        formula=_GATED,
    ),
    _layer(
        "CommonLSTM",
        "A layer of long short-term memory, any activations, one or both directions.",
        "x w r b? sequence_lens? initial_h? initial_c? p? > y y_h y_c",
        form=_LSTM,
        attributes=(*_LAYER, *attributes(input_forget=0)),
        aicpu="f16 f32 f64",
        formula=_REMEMBERED,
    ),
    _layer(
        "DynamicGRUV2",
        # The gates are outputs that training keeps; CANN always returns them, here nothing asks.
        "A layer of gated recurrent units in one direction.",
        "x weight_input weight_hidden bias_input? bias_hidden? seq_length? init_h? > "
        "y output_h update? reset? new? hidden_new?",
        form=_KERNEL_GRU,
        unit=Unit.CUBE,
        attributes=(
            *_ONE_DIRECTION,
            *attributes(gate_order="zrh", reset_after=True, is_training=True),
        ),
        columns=(
            *columns("f16", _KERNEL_GRU),
            *columns("f32", _KERNEL_GRU, Resource.CUBE_FLOAT32),
        ),
        kernels=Kernels("310 310P 310B 610 910 A2 A3: ?; CS: -"),
        aicpu="f32 f64",
        formula=_GATED,
    ),
    _layer(
        "DynamicRNN",
        "A layer of long short-term memory in one direction.",
        "x w b seq_length? init_h? init_c? wci? wcf? wco? mask? > "
        "y output_h output_c i? j? f? o? tanhc?",
        form=_KERNEL_LSTM,
        unit=Unit.CUBE,
        attributes=(
            *attributes(cell_type="LSTM"),
            *_ONE_DIRECTION,
            *attributes(use_peephole=False, forget_bias=0.0, gate_order="ijfo", is_training=True),
        ),
        columns=(
            *columns("f16", _KERNEL_LSTM),
            *columns("f32", _KERNEL_LSTM, Resource.CUBE_FLOAT32),
        ),
        kernels=Kernels(
            "310 310P 310B 610 910 CS: (f16 f16 f16 i32 f16 > f16); A2 A3: ?; 950: "
            "(f16 f16 f16 i32 f16 > f16) (f32 f32 f32 i32 f32 > f32)"
        ),
        aicpu="f32 f64",
        formula=_REMEMBERED,
    ),
)
