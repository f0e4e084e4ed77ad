"""HF32, a float32 of fewer digits that the cube of some SoCs multiplies: which nodes ask for it."""

from collections.abc import Mapping

from atc_py.target.row import Attribute

FLOAT32_PRODUCTS, HF32_PRODUCTS = "enable_float_32_execution", "enable_hi_float_32_execution"
"""CANN's names of the two implementations."""

PRODUCTS = Attribute("impl_mode", "string", FLOAT32_PRODUCTS, unsaid=True)
"""Of operators of the cube: with HF32_PRODUCTS the cube rounds float32 operands to HF32."""


def rounds_to_hf32(attributes: Mapping[str, object]) -> bool:
    """True if a node with these attributes rounds float32 operands to HF32."""
    return attributes.get(PRODUCTS.name) == HF32_PRODUCTS
