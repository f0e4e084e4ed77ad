"""Random cases of the rules of transforms, scattering and broadcasting."""

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws


@draws("stft-as-convolution")
def stft_as_convolution(rng: np.random.Generator) -> RuleCase:
    length, step = int(rng.integers(2, 20)), int(rng.integers(1, 90))
    size = length + int(rng.integers(0, 200))
    inputs = (
        Fed((int(rng.integers(1, 3)), size, 1)),
        ConstInput(np.array(step)),
        data(length) if rng.integers(2) else None,
        ConstInput(np.array(length)),
    )
    return RuleCase("STFT", inputs, {"onesided": int(rng.integers(2))}, opset=17)


@draws("dft-as-product")
def dft_as_product(rng: np.random.Generator) -> RuleCase:
    dims = [int(each) for each in rng.integers(1, 12, 3)]
    axis, onesided = int(rng.integers(0, 3)), int(rng.integers(2))
    parts = 1 if onesided else int(rng.integers(1, 3))
    inverse = 0 if onesided else int(rng.integers(2))
    length = ConstInput(np.array(int(rng.integers(1, 15)))) if rng.integers(2) else None
    attributes = {"axis": axis, "onesided": onesided, "inverse": inverse}
    return RuleCase("DFT", (Fed((*dims, parts)), length), attributes, opset=17)


@draws("expand-as-tile")
def expand_as_tile(rng: np.random.Generator) -> RuleCase:
    rank = int(rng.integers(1, 4))
    whole = [int(each) for each in rng.integers(1, 4, rank)]
    dims = tuple(dim if rng.integers(2) else 1 for dim in whole)[int(rng.integers(rank)) :]
    asked = [dim if rng.integers(2) or len(dims) < rank else 1 for dim in whole]
    return RuleCase("Expand", (Fed(dims, DType.INT32), ConstInput(np.array(asked))))


@draws("scatter-elements-as-nd")
def scatter_elements_as_nd(rng: np.random.Generator) -> RuleCase:
    rank = int(rng.integers(1, 4))
    dims = tuple(int(each) for each in rng.integers(1, 6, rank))
    axis = int(rng.integers(rank))
    shape = tuple(int(rng.integers(1, dim + 1)) for dim in dims)
    rows = [rng.permutation(dims[axis])[: shape[axis]] for _ in range(int(np.prod(shape)))]
    flat = np.stack(rows)[: int(np.prod(shape)) // shape[axis]]
    outer = [size for at, size in enumerate(shape) if at != axis]
    indices = np.moveaxis(flat.reshape(*outer, shape[axis]), -1, axis)
    indices = indices - dims[axis] * rng.integers(0, 2, indices.shape)
    inputs = (Fed(dims), ConstInput(np.ascontiguousarray(indices, np.int64)), Fed(shape))
    return RuleCase("ScatterElements", inputs, {"axis": axis - rank * int(rng.integers(2))})


@draws("function-body")
def function_body(rng: np.random.Generator) -> RuleCase:
    dims = tuple(int(each) for each in rng.integers(1, 5, int(rng.integers(1, 5))))
    return RuleCase("Mish", (Fed(dims),), opset=18)
