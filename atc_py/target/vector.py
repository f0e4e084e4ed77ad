"""Vector functions: how the vector unit computes a function of each element."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from atc_py.tensor.dtypes import DType

__all__ = ["LOW", "MASK", "Form", "Operands", "Temporary", "VectorFunction"]


class Form(Enum):
    """The form of a function, by the template that writes its kernels.

    UNARY: of one tensor. ACTIVATION: of one tensor, each of its steps in float32. BINARY:
    arithmetic of two tensors or more. COMPARE: a bool of two tensors. SELECT: the choice between
    two tensors. CAST: a conversion of dtypes.
    """

    UNARY = "unary"
    ACTIVATION = "activation"
    BINARY = "binary"
    COMPARE = "compare"
    SELECT = "select"
    CAST = "cast"


class Operands(Enum):
    """The operands of a function after the first one.

    TENSORS: broadcast to the result. SINGLES: one value each. CHANNELS: one element for each channel.
    """

    TENSORS = "tensors"
    SINGLES = "singles"
    CHANNELS = "channels"


@dataclass(frozen=True, slots=True)
class Temporary:
    """A tensor that a formula needs beside its operands and its result.

    Attributes:
        name: as the formula calls it.
        dtype: element type.
        is_mask: True if it has one bit an element instead.
    """

    name: str
    dtype: DType
    is_mask: bool = False


LOW = Temporary("low", DType.FLOAT32)
MASK = Temporary("mask", DType.UINT8, is_mask=True)


@dataclass(frozen=True, slots=True)
class VectorFunction:
    """A function of each element as the vector unit computes it.

    Attributes:
        form: its form; that of a choice and that of a cast leave nothing else to say of scratch.
        instruction: the vector instruction that it is; of a comparison, its mode. Without one its
            formula is `templates/kernels/functions/<operator>.j2`.
        native: dtypes beside float32 that it is computed in as they are. Other floats go through
            float32, everything else through the scalar unit.
        operands: those after the first one.
        scratch: further tensors of its formula.
        rounded_once: True if a result is rounded once, and so equal to the simulator's in all bits;
            taken for granted of operators that only select.
        zero_of_zeros: True if it is 0 where all operands are, whatever the attributes.
        cancels: True if a result is a small rest of larger numbers.
        linked: True if kernels of other operators may apply it to the result that they hold.
    """

    form: Form
    instruction: str = ""
    native: tuple[DType, ...] = ()
    operands: Operands = Operands.TENSORS
    scratch: tuple[Temporary, ...] = ()
    rounded_once: bool = False
    zero_of_zeros: bool = False
    cancels: bool = False
    linked: bool = True

    def __post_init__(self) -> None:
        # Those kernels have room for one tensor of scratch, and no idea of channels.
        on_floats = self.form in {Form.UNARY, Form.ACTIVATION, Form.BINARY}
        fits = {*self.scratch} <= {LOW} and self.operands is not Operands.CHANNELS
        if self.linked and not (on_floats and fits):
            raise ValueError(f"{self} takes more than a kernel that links it has: say linked=False")
