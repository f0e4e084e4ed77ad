"""The softmax of masked scores: a normalization along the last axis with a mask beside x."""

from collections.abc import Mapping
from typing import Any

from atc_py.kernels.boxes import dense
from atc_py.kernels.families.along_axes import room_of
from atc_py.kernels.family import Family
from atc_py.kernels.fields import extended, numbers, wide
from atc_py.kernels.plan import KernelFacts, Launch, Plan
from atc_py.kernels.reduction import AxesTiling, Folded, axes_tiling
from atc_py.tensor.dtypes import DType


class MaskedTiling(AxesTiling):
    """Work along the last axis, with the place of each row's mask."""

    mask_strides: tuple[int, ...] = numbers("elements between neighbors in the mask", pad=0)
    mask_length: int = wide("elements of the mask for each row; 1 where all of a row share one")


class _MaskedSoftmax(Family):
    """Softmax along the last axis of scores beside which a mask stands."""

    name = template = "masked_softmax"
    operators = frozenset({"ScaledMaskedSoftmax"})

    def plan(self, launch: Launch) -> Plan:
        """Assign rows of x to cores; dims of 1 stay, so that strides of the mask match them."""
        shape, mask = launch.inputs
        room, buffers = room_of(launch)
        before = shape[:-1] or (1,)
        kept = tuple(zip(before, dense(shape)[:-1] or (0,), strict=True))
        tiling = axes_tiling(Folded(kept, (), 1, shape[-1]), room, launch.soc)
        full = (1,) * (len(shape) - len(mask)) + mask
        pairs = zip(full, dense(full), strict=True)
        strides = tuple(0 if dim == 1 else stride for dim, stride in pairs)
        placed = extended(
            MaskedTiling, tiling, mask_strides=strides[:-1] or (0,), mask_length=full[-1]
        )
        return Plan(placed, tiling.core_num, buffers(tiling.buffer_length), launch.moved)

    def covers(self, kernel: KernelFacts) -> bool:
        x, mask = kernel.inputs
        floats = {DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16}
        return x.dtype in floats and mask.dtype is DType.BOOL

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {
            "T": "float",
            "bytes": False,
            "lanes": 0,
            "parameters": ("shown",),
            "load": "LoadMasked",
        }

    def exact(self, kernel: KernelFacts) -> bool:
        return False


FAMILIES = (_MaskedSoftmax(),)
