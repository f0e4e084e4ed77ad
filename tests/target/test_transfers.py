"""Pairs of TransData, as the operator information of CANN 8.1 lists them for each family."""

import pytest

from atc_py.target import find_soc
from atc_py.target.transfers import converts, transfers
from atc_py.tensor.dtypes import DType

USUAL = "float16 float32 bfloat16 int8 int32 uint8 uint32"
LISTED = {
    "ND > FRACTAL_NZ": USUAL,
    "FRACTAL_NZ > ND": USUAL,
    "NCHW > NC1HWC0": USUAL,
    "NC1HWC0 > NCHW": USUAL,
    "NHWC > NC1HWC0": f"{USUAL} uint16",
    "NC1HWC0 > NHWC": USUAL,
    "NCHW > FRACTAL_Z": USUAL,
    "FRACTAL_Z > NCHW": USUAL,
    "HWCN > FRACTAL_Z": USUAL,
    "FRACTAL_Z > HWCN": USUAL,
    "NC1HWC0 > FRACTAL_Z": USUAL,
    "NCDHW > NDC1HWC0": USUAL,
    "NDC1HWC0 > NCDHW": USUAL,
    "NDHWC > NDC1HWC0": USUAL,
    "NDC1HWC0 > NDHWC": USUAL,
    "NCDHW > FRACTAL_Z_3D": USUAL,
    "FRACTAL_Z_3D > NCDHW": USUAL,
    "NDHWC > FRACTAL_Z_3D": USUAL,
    "FRACTAL_Z_3D > NDHWC": USUAL,
    "DHWCN > FRACTAL_Z_3D": USUAL,
    "FRACTAL_Z_3D > DHWCN": USUAL,
    "FRACTAL_NZ > NC1HWC0": USUAL,
    "ND > FRACTAL_Z": "int8 uint8",
    "HWCN > C1HWNCoC0": "float16 float32 int32 uint16",
    "C1HWNCoC0 > HWCN": "float16 float32 int32 uint16",
    "NCHW > FRACTAL_Z_C04": "float16",
    "NHWC > FRACTAL_Z_C04": "float16",
    "HWCN > FRACTAL_Z_C04": "float16",
    "NCHW > NC1HWC0_C04": "float16 float32",
    "NHWC > NC1HWC0_C04": "float16 float32",
    "HWCN > NC1HWC0_C04": "float16 float32",
}
"""What every family has, but for bfloat16 on Ascend310P and Ascend610."""

BACK = {"NC1HWC0 > NCHW": "int16 uint16"}
A2 = {
    **BACK,
    "NCHW > NC1HWC0": "uint16",
    "NCHW > FRACTAL_Z_C04": "bfloat16",
    "HWCN > FRACTAL_Z_C04": "bfloat16",
    "FRACTAL_Z_C04 > NCHW": "float32",
}
MORE: dict[str, dict[str, str]] = {
    "Ascend310": {},
    "Ascend310B1": {},
    "Hi3796CV300CS": {},
    "Ascend310P3": BACK,
    "Ascend610": BACK,
    "Ascend910A": BACK,
    "Ascend910B3": A2,
    "Ascend910_9391": A2,
}
"""What single families have besides."""


@pytest.mark.parametrize("name", MORE)
def test_pairs_are_the_ones_listed(name: str) -> None:
    soc = find_soc(name)
    wanted = {pair: set(dtypes.split()) for pair, dtypes in LISTED.items()}
    for pair, dtypes in MORE[name].items():
        wanted[pair] = wanted.get(pair, set()) | set(dtypes.split())
    if name in {"Ascend310P3", "Ascend610"}:
        wanted = {pair: dtypes - {"bfloat16"} for pair, dtypes in wanted.items()}
    found = {
        " > ".join(pair): {dtype.value for dtype in dtypes}
        for pair, dtypes in transfers(soc.family).items()
    }
    assert found == wanted
    for pair in ("NHWC > FRACTAL_Z", "FRACTAL_Z > NHWC", "FRACTAL_Z > ND", "NCHW > C1HWNCoC0"):
        source, _, target = pair.partition(" > ")
        assert not any(converts(dtype, source, target, soc) for dtype in DType), pair
    for dtype in (DType.BOOL, DType.FLOAT64, DType.INT64, DType.INT4):
        assert not any(dtype in dtypes for dtypes in transfers(soc.family).values())


def test_the_generic_device_converts_between_rows_and_blocks() -> None:
    sim = find_soc("sim")
    assert converts(DType.BOOL, "NCHW", "NC1HWC0", sim)
    assert converts(DType.INT64, "FRACTAL_NZ", "ND", sim)
    assert not converts(DType.FLOAT16, "NC1HWC0", "FRACTAL_Z", sim)
