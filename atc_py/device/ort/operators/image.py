"""Blocks of feature maps moved between channels and space."""

from atc_py.device.ort.body import Body
from atc_py.device.ort.dims import dims_of, over, shaped, times
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType

_DEPTH_AXES = {"DCR": (0, 3, 4, 1, 5, 2), "CRD": (0, 1, 4, 2, 5, 3)}
"""Order of the axes N, (block, block, C) or (C, block, block), H, W in the result, by mode."""

_BLOCKS = frozenset({DType.FLOAT32, DType.FLOAT64})
"""Dtypes that a runtime's operators of blocks take."""


@emulates("DepthToSpace", moves=True)
def depth_to_space(body: Body) -> str:
    """Write channels as blocks; DCR: (i * block + j) * C + c is c at (i, j); CRD: c comes first."""
    block, mode = body.node.integer("block_size"), body.node.text("mode")
    if body.node.dtype() in _BLOCKS:
        return body.add("DepthToSpace", body.own(), blocksize=block, mode=mode)
    images, channels, height, width = dims_of(body)
    depth = over(body, channels, block**2)
    split = (block, block, depth) if mode == "DCR" else (depth, block, block)
    value = shaped(body, body.own(), (images, *split, height, width))
    value = body.add("Transpose", value, perm=_DEPTH_AXES[mode])
    sides = (times(body, height, block), times(body, width, block))
    return shaped(body, value, (images, depth, *sides))


@emulates("SpaceToDepth", moves=True)
def space_to_depth(body: Body) -> str:
    """Write blocks as channels: channel (i * block + j) * C + c is element (i, j) of channel c."""
    block = body.node.integer("block_size")
    if body.node.dtype() in _BLOCKS:
        return body.add("SpaceToDepth", body.own(), blocksize=block)
    images, channels, height, width = dims_of(body)
    rows, columns = over(body, height, block), over(body, width, block)
    value = shaped(body, body.own(), (images, channels, rows, block, columns, block))
    value = body.add("Transpose", value, perm=(0, 3, 5, 1, 2, 4))
    return shaped(body, value, (images, times(body, channels, block**2), rows, columns))
