"""Elementwise kernels of tensors in blocks: conditions and template facts."""

from collections.abc import Mapping, Sequence
from typing import Any

from atc_py.kernels.formula import Loaded
from atc_py.kernels.plan import KernelFacts
from atc_py.kernels.planes import PATTERN, lanes_of
from atc_py.kernels.ports import KernelPort
from atc_py.kernels.tiling import BLOCK
from atc_py.tensor.dtypes import DType
from atc_py.tensor.formats import Format
from atc_py.tensor.storage import c0_of

_FORMATS = {Format.NC1HWC0, Format.NDC1HWC0, Format.FRACTAL_NZ}


def fits_planes(kernel: KernelFacts) -> bool:
    """True if results and blocked operands are stored alike, in mergeable blocks."""
    ports = (*kernel.operands, *kernel.outputs)
    formats = {port.storage.format for port in ports if port.storage is not None}
    if len(formats) != 1 or not formats <= _FORMATS:
        return False
    if any(port.storage is None for port in kernel.outputs):
        return False
    lanes = lanes_of(ports)
    return all(
        port.dtype is not DType.INT4 and (_parts(port, lanes) == 1 or _is_whole(port))
        for port in ports
    )


def _is_whole(port: KernelPort) -> bool:
    """True if a block of the operand is whole blocks of the unified buffer."""
    return c0_of(port.dtype) * port.dtype.itemsize % BLOCK == 0


def _parts(port: KernelPort, lanes: int) -> int:
    """The number of blocks of an operand that fit side by side in one of `lanes`."""
    return 1 if port.storage is None else lanes // c0_of(port.dtype)


def keeps_zeros(kernel: KernelFacts) -> bool:
    """True if zeros in the padding of all operands are zeros in that of the result.

    All operands must have padding, in blocks of one length.
    """
    functions = (kernel.row.vector, *(link.function for link in kernel.links))
    zeros = all(each is not None and each.zero_of_zeros for each in functions)
    storages = [port.storage for port in kernel.operands]
    blocks = {c0_of(port.dtype) for port in (*kernel.operands, *kernel.outputs)}
    return zeros and None not in storages and len(blocks) == 1


def plane_facts(kernel: KernelFacts, tensors: Sequence[Loaded]) -> Mapping[str, Any]:
    """Facts for `planes.j2`: lanes of a pixel, blocks in one, whether padding is cleared."""
    lanes = lanes_of((*kernel.operands, *kernel.outputs))
    parts = {each.name: _parts(each.port, lanes) for each in tensors}
    parts.update({port.name: _parts(port, lanes) for port in kernel.outputs})
    return {
        "lanes": lanes,
        "parts": parts,
        "stored": {each.name: each.port.storage is not None for each in tensors},
        "c0": {name: lanes // count for name, count in parts.items()},
        "loads_parts": any(parts[each.name] > 1 for each in tensors),
        "stores_parts": any(parts[port.name] > 1 for port in kernel.outputs),
        "clears": not keeps_zeros(kernel),
        "pattern": PATTERN,
    }
