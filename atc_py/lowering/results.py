"""Result types of operators that ONNX does not define, held to what the file states of them."""

from atc_py.ir import TensorType
from atc_py.lowering.builder import Builder
from atc_py.tensor.shapes import format_shape
from atc_py.text import Text


def stated(b: Builder, position: int, found: TensorType) -> TensorType:
    """`found`, which the file must have stated for the output too.

    What the inputs leave open of it is as the file states it.
    """
    if not b.wants_output(position):
        return found
    stated = b.output_type(position)
    fits = stated.rank == found.rank and all(
        mine in {None, theirs} for mine, theirs in zip(found.dims, stated.shape, strict=True)
    )
    if stated.dtype is not found.dtype or not fits:
        raise b.bad(
            Text(
                "gives {found}, but the file states {stated}",
                found=said(found),
                stated=said(stated),
            ),
            Text("output {at}", at=position),
        )
    return TensorType(found.dtype, stated.dims)


def said(type_: TensorType) -> str:
    return f"{type_.dtype.value} {format_shape(type_.dims)}"
