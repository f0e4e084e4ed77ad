"""Storage formats element by element: where each element of a tensor is, written out from CANN.

Nothing here is shared with the package: the package is compared with it.
"""

from collections.abc import Callable
from math import lcm

from atc_py.tensor.dtypes import DType
from atc_py.tensor.storage import Storage

Place = Callable[[tuple[int, ...]], tuple[int, ...]]

C0 = {"int8": 32, "uint8": 32, "int4": 64}


def c0(dtype: DType) -> int:
    return C0.get(dtype.value, 16)


def up(number: int, size: int) -> int:
    return (number + size - 1) // size


def nchw(shape: tuple[int, ...], origin: str) -> tuple[int, ...]:
    """Return dims or positions in the order N, C, H, W."""
    return (shape[0], shape[3], shape[1], shape[2]) if origin == "NHWC" else shape


def expected(
    shape: tuple[int, ...], origin: str, storage: Storage, dtype: DType
) -> tuple[tuple[int, ...], Place]:
    """Return the storage's dims, and where in them the element at a position is."""
    rule = {
        "NC1HWC0": _nc1hwc0,
        "FRACTAL_Z": _matrix if len(shape) == 2 else _fractal_z,
        "FRACTAL_NZ": _fractal_nz,
        "C1HWNCoC0": _c1hwncoc0,
        "FRACTAL_Z_C04": _fractal_z_c04,
        "NDC1HWC0": _ndc1hwc0,
        "FRACTAL_Z_3D": _fractal_z_3d,
    }[storage.format.value]
    depth = storage.c0 or c0(dtype)
    if storage.format.value == "FRACTAL_NZ":
        return rule(shape, storage.groups, depth)
    stored, place = rule(nchw(shape, origin), storage.groups, depth)
    return stored, lambda at: place(nchw(at, origin))


def _nc1hwc0(shape: tuple[int, ...], _groups: int, d: int) -> tuple[tuple[int, ...], Place]:
    n, c, h, w = shape
    return (n, up(c, d), h, w, d), lambda at: (at[0], at[1] // d, at[2], at[3], at[1] % d)


def _ndc1hwc0(shape: tuple[int, ...], _groups: int, d: int) -> tuple[tuple[int, ...], Place]:
    n, c, depth, h, w = shape

    def place(at: tuple[int, ...]) -> tuple[int, ...]:
        return at[0], at[2], at[1] // d, at[3], at[4], at[1] % d

    return (n, depth, up(c, d), h, w, d), place


def _matrix(shape: tuple[int, ...], _groups: int, d: int) -> tuple[tuple[int, ...], Place]:
    k, n = shape
    return (up(k, d), up(n, 16), 16, d), lambda at: (at[0] // d, at[1] // 16, at[1] % 16, at[0] % d)


def _fractal_z(shape: tuple[int, ...], groups: int, d: int) -> tuple[tuple[int, ...], Place]:
    n, cin, height, width = shape
    cout = n // groups
    together = 1
    if groups > 1:
        together = min(lcm(lcm(cin, d) // cin, lcm(cout, 16) // cout), groups)
    c1, n1 = up(together * cin, d), up(together * cout, 16)

    def place(at: tuple[int, ...]) -> tuple[int, ...]:
        group, output = divmod(at[0], cout)
        row = (group % together) * cout + output
        column = (group % together) * cin + at[1]
        outer = ((group // together * c1 + column // d) * height + at[2]) * width + at[3]
        return outer, row // 16, row % 16, column % d

    return (up(groups, together) * c1 * height * width, n1, 16, d), place


def _fractal_z_3d(shape: tuple[int, ...], groups: int, d: int) -> tuple[tuple[int, ...], Place]:
    n, cin, depth, height, width = shape
    cout = n // groups
    together = min(lcm(lcm(cin, d) // cin, lcm(cout, 16) // cout), groups)
    c1, n1 = up(together * cin, d), up(together * cout, 16)

    def place(at: tuple[int, ...]) -> tuple[int, ...]:
        group, output = divmod(at[0], cout)
        row = (group % together) * cout + output
        column = (group % together) * cin + at[1]
        outer = (group // together * depth + at[2]) * c1 + column // d
        return (outer * height + at[3]) * width + at[4], row // 16, row % 16, column % d

    return (up(groups, together) * depth * c1 * height * width, n1, 16, d), place


def _fractal_nz(shape: tuple[int, ...], _groups: int, d: int) -> tuple[tuple[int, ...], Place]:
    *outer, h, w = shape

    def place(at: tuple[int, ...]) -> tuple[int, ...]:
        return (*at[:-2], at[-1] // d, at[-2] // 16, at[-2] % 16, at[-1] % d)

    return (*outer, up(w, d), up(h, 16), 16, d), place


def _c1hwncoc0(shape: tuple[int, ...], channels: int, d: int) -> tuple[tuple[int, ...], Place]:
    n, _, h, w = shape
    multiplier = n // channels

    def place(at: tuple[int, ...]) -> tuple[int, ...]:
        channel, output = divmod(at[0], multiplier)
        return channel // d, at[2], at[3], output, channel % d, channel % d

    return (up(channels, d), h, w, multiplier, d, d), place


def _fractal_z_c04(shape: tuple[int, ...], _groups: int, d: int) -> tuple[tuple[int, ...], Place]:
    n, _, h, w = shape

    def place(at: tuple[int, ...]) -> tuple[int, ...]:
        k = (at[2] * w + at[3]) * 4 + at[1]
        return k // d, at[0] // 16, at[0] % 16, k % d

    return (up(4 * h * w, d), up(n, 16), 16, d), place
