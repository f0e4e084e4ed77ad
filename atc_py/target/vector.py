"""Vector functions: how the vector unit computes a function of each element."""

from enum import Enum

import msgspec

from atc_py.tensor.dtypes import DType


class Form(Enum):
    """Form of a function: the template that writes its kernels.

    UNARY: a function of one tensor. ACTIVATION: a function of one tensor, each step in float32.
    BINARY: arithmetic of two or more tensors. COMPARE: a comparison of two tensors. TEST: a question
    about each element of one tensor. SELECT: a choice between two tensors. CAST: a conversion to
    another dtype.
    """

    UNARY = "unary"
    ACTIVATION = "activation"
    BINARY = "binary"
    COMPARE = "compare"
    TEST = "test"
    SELECT = "select"
    CAST = "cast"


class Operands(Enum):
    """Kinds of operands after the first one.

    TENSORS: broadcast to the result. SINGLES: one value each. CHANNELS: one element for each channel.
    """

    TENSORS = "tensors"
    SINGLES = "singles"
    CHANNELS = "channels"


class Temporary(msgspec.Struct, frozen=True):
    """A tensor that a formula uses besides its operands and its result."""

    name: str  # as the formula calls it
    dtype: DType
    is_mask: bool = False  # True if it has one bit an element instead


LOW = Temporary("low", DType.FLOAT32)
MASK = Temporary("mask", DType.UINT8, is_mask=True)


class VectorFunction(msgspec.Struct, frozen=True):
    """A function of each element as the vector unit computes it."""

    form: Form  # which template writes its kernels
    # the vector instruction that computes it; of a comparison, the mode. Without one its formula is
    # `templates/kernels/functions/<operator>.j2`; choices and casts have theirs in their templates
    instruction: str = ""
    # dtypes besides float32 that the vector unit computes it in. Other floats go through float32,
    # everything else through the scalar unit
    native: tuple[DType, ...] = ()
    operands: Operands = Operands.TENSORS  # how the operands after the first one are read
    # further tensors that its formula uses; those of choices and casts follow from their dtypes
    scratch: tuple[Temporary, ...] = ()
    # True if a result is rounded once, and so equal to the simulator's in all bits. Operators that
    # only select need not say so
    rounded_once: bool = False
    # True if the result is 0 where all operands are 0, whatever the attributes, so that padding of
    # blocks stays 0
    zero_of_zeros: bool = False
    cancels: bool = False  # True if a result is a small difference of larger numbers
    # True if it computes the bits of its operands, 16 at a time, whatever their dtype
    bits: bool = False
    # True if kernels of other operators may apply it to a result that they still hold; one of
    # channels, where there is one number for all
    linked: bool = True

    def __post_init__(self) -> None:
        # A kernel that links a function has one tensor of scratch for it.
        on_floats = self.form in {Form.UNARY, Form.ACTIVATION, Form.BINARY}
        fits = {*self.scratch} <= {LOW} and not self.bits
        if self.linked and not (on_floats and fits):
            raise ValueError(
                f"{self} does not fit into kernels of other operators: set linked=False"
            )
