"""Random numbers, which have a form only where nothing is drawn that matters."""

import numpy as np
import pytest

from atc_py.device.ort.model import emulate
from atc_py.diag import AtcError
from atc_py.diag.codes import NO_ONNX_FORM
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes
from tests.device.ort.apart import apart, model_of

F32, I32 = DType.FLOAT32, DType.INT32
COUNT = np.array(3, np.int32)


@pytest.mark.parametrize(
    ("op", "x", "dtype", "shape"),
    [
        ("RandomUniform", [np.array([2, 5])], F32, (2, 5)),
        ("RandomUniform", [np.array([2, 0])], F32, (None, None)),
        ("RandomStandardNormal", [np.array([3])], DType.FLOAT64, (3,)),
        ("Multinomial", [np.zeros((2, 4), np.float32), COUNT], I32, (2, 3)),
    ],
)
def test_draws_have_no_form(
    op: str, x: list[Array], dtype: DType, shape: tuple[int | None, ...]
) -> None:
    attributes: Attributes = {"dtype": dtype.value, "seed": 3}
    model, _ = model_of(op, x, [(dtype, shape)], attributes, constants=[len(x) - 1])
    with pytest.raises(AtcError, match="it draws random numbers") as caught:
        emulate(model, flat=True)
    assert caught.value.diagnostics[0].code is NO_ONNX_FORM


def test_nothing_and_the_only_class_are_no_draws() -> None:
    attributes: Attributes = {"dtype": "float32"}
    assert (
        apart("RandomUniform", [np.array([2, 0])], [(F32, (2, 0))], attributes, constants=[0]) == 0
    )
    one = np.array([[np.nan], [2.0]], np.float16)
    for dtype in (I32, DType.INT64):
        attributes = {"dtype": dtype.value}
        assert apart("Multinomial", [one, COUNT], [(dtype, (2, 3))], attributes, constants=[1]) == 0
    many = np.zeros((0, 4), np.float32)
    assert apart("Multinomial", [many, COUNT], [(dtype, (0, 3))], attributes, constants=[1]) == 0
