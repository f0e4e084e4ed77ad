"""Pairs of formats that CANN's TransData converts, with their dtypes, by SoC family.

From the operator information of CANN 8.1, and of Ascend950 from the operator definition and tiling of
CANN's open repositories (August 2026), which have rows and FRACTAL_NZ alone. Pairs of LSTM formats, those between rows and rows, and those between
two volumes in blocks are left out. The generic device converts between rows and all blocks.

FRACTAL_NZ to NC1HWC0 is in the table, but no graph uses it: that kernel reads the matrix of N rows
and C1 H W C0 columns, and images stored in FRACTAL_NZ are stacks of matrices of H rows.
"""

from atc_py.target.soc import Soc, SocFamily
from atc_py.tensor.dtypes import DType, Format

_F16, _F32, _BF16 = DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16
_I8, _I16, _I32 = DType.INT8, DType.INT16, DType.INT32
_U8, _U16, _U32 = DType.UINT8, DType.UINT16, DType.UINT32

_ROWS = {Format.ND.value, Format.NCHW.value, Format.NHWC.value, Format.NCDHW.value}

_USUAL = frozenset({_F16, _F32, _BF16, _I8, _I32, _U8, _U32})

TRANSFERS: dict[tuple[str, str], frozenset[DType]] = {
    ("ND", "FRACTAL_NZ"): _USUAL,
    ("FRACTAL_NZ", "ND"): _USUAL,
    ("NCHW", "NC1HWC0"): _USUAL,
    ("NC1HWC0", "NCHW"): _USUAL,
    ("NHWC", "NC1HWC0"): _USUAL | {_U16},
    ("NC1HWC0", "NHWC"): _USUAL,
    ("NCHW", "FRACTAL_Z"): _USUAL,
    ("FRACTAL_Z", "NCHW"): _USUAL,
    ("HWCN", "FRACTAL_Z"): _USUAL,
    ("FRACTAL_Z", "HWCN"): _USUAL,
    ("NC1HWC0", "FRACTAL_Z"): _USUAL,
    ("NCDHW", "NDC1HWC0"): _USUAL,
    ("NDC1HWC0", "NCDHW"): _USUAL,
    ("NDHWC", "NDC1HWC0"): _USUAL,
    ("NDC1HWC0", "NDHWC"): _USUAL,
    ("NCDHW", "FRACTAL_Z_3D"): _USUAL,
    ("FRACTAL_Z_3D", "NCDHW"): _USUAL,
    ("NDHWC", "FRACTAL_Z_3D"): _USUAL,
    ("FRACTAL_Z_3D", "NDHWC"): _USUAL,
    ("DHWCN", "FRACTAL_Z_3D"): _USUAL,
    ("FRACTAL_Z_3D", "DHWCN"): _USUAL,
    ("FRACTAL_NZ", "NC1HWC0"): _USUAL,
    ("ND", "FRACTAL_Z"): frozenset({_I8, _U8}),
    ("HWCN", "C1HWNCoC0"): frozenset({_F16, _F32, _I32, _U16}),
    ("C1HWNCoC0", "HWCN"): frozenset({_F16, _F32, _I32, _U16}),
    ("NCHW", "FRACTAL_Z_C04"): frozenset({_F16}),
    ("NHWC", "FRACTAL_Z_C04"): frozenset({_F16}),
    ("HWCN", "FRACTAL_Z_C04"): frozenset({_F16}),
    ("NCHW", "NC1HWC0_C04"): frozenset({_F16, _F32}),
    ("NHWC", "NC1HWC0_C04"): frozenset({_F16, _F32}),
    ("HWCN", "NC1HWC0_C04"): frozenset({_F16, _F32}),
}
"""Dtypes by pair of formats, on most families."""

_A2 = frozenset({SocFamily.ASCEND910B, SocFamily.ASCEND910_93})
_WITHOUT_BFLOAT16 = frozenset({SocFamily.ASCEND310P, SocFamily.ASCEND610})

_MORE: tuple[tuple[frozenset[SocFamily], tuple[str, str], frozenset[DType]], ...] = (
    (_A2, ("NCHW", "NC1HWC0"), frozenset({_U16})),
    (_A2, ("NCHW", "FRACTAL_Z_C04"), frozenset({_BF16})),
    (_A2, ("HWCN", "FRACTAL_Z_C04"), frozenset({_BF16})),
    (_A2, ("FRACTAL_Z_C04", "NCHW"), frozenset({_F32})),
    (
        _A2 | _WITHOUT_BFLOAT16 | {SocFamily.ASCEND910},
        ("NC1HWC0", "NCHW"),
        frozenset({_I16, _U16}),
    ),
)
"""Further pairs that some families convert."""


_ASCEND950: dict[tuple[str, str], frozenset[DType]] = {
    ("ND", "FRACTAL_NZ"): (_USUAL | {_I16, _U16}) - {_I32, _U32},
    ("FRACTAL_NZ", "ND"): _USUAL - {_U32},
}
"""Pairs of Ascend950, beside FRACTAL_NZ of a fixed C0."""


def transfers(family: SocFamily) -> dict[tuple[str, str], frozenset[DType]]:
    """The dtypes that the TransData of a family of CANN takes, by pair of formats."""
    if family is SocFamily.ASCEND950:
        return _ASCEND950
    found = dict(TRANSFERS)
    for families, pair, dtypes in _MORE:
        if family in families:
            found[pair] = found.get(pair, frozenset()) | dtypes
    if family in _WITHOUT_BFLOAT16:
        return {pair: dtypes - {_BF16} for pair, dtypes in found.items()}
    return found


def converts_back(dtype: DType, rows: Format, blocks: Format, soc: Soc) -> bool:
    """True if `soc` converts `dtype` from rows in format `rows` to `blocks`, and back.

    FRACTAL_NZ is of rows whose axes have no names.
    """
    named = Format.ND if blocks is Format.FRACTAL_NZ else rows
    pair = named.value, blocks.value
    return converts(dtype, *pair, soc) and converts(dtype, *pair[::-1], soc)


def converts(dtype: DType, source: str, target: str, soc: Soc) -> bool:
    """True if one TransData of `soc` takes `dtype` from format `source` to `target`."""
    if soc.family is SocFamily.SIM:
        return source in _ROWS or target in _ROWS
    return dtype in transfers(soc.family).get((source, target), frozenset())
