"""Comparison of a run's outputs with expected data, and its tolerance."""

import math
from collections.abc import Iterable

import msgspec
import numpy as np
import numpy.typing as npt

from atc_py.diag import BAD_RUN_INPUT, Place
from atc_py.package.schema import OmModel
from atc_py.system.structs import Ratio, Result
from atc_py.target import find_operator
from atc_py.target.row import rounds_to_hf32
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.tensor.sameness import best_places, same_elements
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

Array = npt.NDArray[np.generic]


FLOAT32_TOLERANCE = 1e-4
"""Share of the expected range that float32 arithmetic in another order may move an output."""

ROUNDING_FACTOR = 2.0
"""Factor over the root of the sum of squares by which roundings of successive kernels add up."""

FLOAT16_CAP = 1e-2
"""Largest share of the range that passes, however long the chain of float16 kernels is."""


class FloatGrid(Result, frozen=True):
    """The numbers of a 16-bit float type.

    Attributes:
        unit: half a unit in the last place, relative: what one rounding can move a value.
        least_exponent: that of the smallest normal number, as 0.5 * 2^e; below it the distance
            stays the same.
    """

    unit: float
    least_exponent: int

    @property
    def cap(self) -> float:
        """The largest share of the range that passes: FLOAT16_CAP at float16's unit."""
        return FLOAT16_CAP * self.unit / 2.0**-11

    def half_spacing(self, magnitude: float) -> float:
        """Half the distance between neighbors in the binade of `magnitude`."""
        exponent = max(math.frexp(magnitude)[1], self.least_exponent)
        return math.ldexp(self.unit / 2, exponent)

    def has_all(self, values: npt.NDArray[np.float64]) -> bool:
        """True if all finite values are numbers of the type: of another run, say."""
        finite = values[np.isfinite(values)]
        exponents = np.maximum(np.frexp(finite)[1], self.least_exponent)
        steps = finite / np.ldexp(self.unit, exponents)
        return bool((steps == np.rint(steps)).all())


GRIDS = {"float16": FloatGrid(2.0**-11, -13), "bfloat16": FloatGrid(2.0**-8, -125)}
"""float16 has 11 bits of significand and bfloat16 8, the leading one included."""

HF32 = FloatGrid(2.0**-12, -125)
"""What the cube of some SoCs rounds float32 operands to: 12 bits of significand."""

HF32_OPERANDS = 2
"""Roundings of a product in HF32: of the data, and of the weights or the other matrix."""

STEPS = {"float16_difference": 1, "float16_exponential": 2, "high_performance": 3}
"""Roundings to float16 within a kernel, beside that of its result, by its implementation."""

FEWEST_FOR_A_RANGE = 7
"""Fewer values have no meaningful range.

Of k normal values, the range is below their deviation in 52 % of all draws for k = 2, in 1.9 %
for k = 6 and in 0.8 % for k = 7, the first k at which it does so less than once in a hundred.
"""


class Comparison(Result, frozen=True):
    """Comparison of one output with its expected data.

    Attributes:
        name: the output.
        max_error: largest absolute difference; inf where only one side is not finite.
        range_error: `max_error` over the expected data's range (largest magnitude where it is
            constant); what `tolerance` bounds.
        cosine: cosine similarity of the two as vectors.
        same_argmax: whether the largest element along the last axis is the same everywhere.
        tolerance: largest `range_error` that passes.
        other_shapes: the shape found and the expected one where they differ; then nothing else
            can be compared, the errors are inf and the rest says no.
    """

    name: str = msgspec.field(name="output")
    max_error: Ratio
    range_error: Ratio
    cosine: float
    same_argmax: bool
    tolerance: float
    other_shapes: tuple[Shape, Shape] | None = msgspec.field(name="_other_shapes", default=None)

    @property
    def passed(self) -> bool:
        """True if the output is within the tolerance."""
        return self.range_error <= self.tolerance

    def as_json(self) -> dict[str, object]:
        """The fields as JSON values, and whether they pass."""
        return {**super().as_json(), "passed": self.passed}


def compare(name: str, array: Array, expected: Array, tolerance: float) -> Comparison:
    """Compare `found` with `expected`; differing shapes are an infinite error.

    Raises:
        AtcError: BAD_RUN_INPUT for data that are not real numbers.
    """
    ours, theirs = _numbers(name, array), _numbers(name, expected)
    if array.shape != expected.shape:
        return Comparison(
            name,
            math.inf,
            math.inf,
            0.0,
            same_argmax=False,
            tolerance=tolerance,
            other_shapes=(array.shape, expected.shape),
        )
    max_error = _max_error(ours, theirs)
    scale = _range(theirs)
    range_error = max_error / scale if scale else max_error
    return Comparison(
        name, max_error, range_error, _cosine(ours, theirs), _same_argmax(ours, theirs), tolerance
    )


def default_tolerance(description: OmModel) -> float:
    """The share of an output's range that the model's arithmetic explains.

    In float32 only the order of additions differs: FLOAT32_TOLERANCE. With 16-bit values every
    kernel that computes rounds its results by at most u relative, 2^-11 in float16 and 2^-8 in
    bfloat16. The roundings of kernels in a row are independent, so their squares add up:
    min(ROUNDING_FACTOR * sqrt(sum of u^2), cap), the sum being the largest of any chain between
    an input and an output; for n kernels of float16 that is ROUNDING_FACTOR * u * sqrt(n). A kernel
    that multiplies in HF32 counts as two roundings of 2^-12: it rounds both operands; one that
    rounds steps to float16 counts as so many roundings more. The factor
    leaves room for a softmax at the end, which turns an absolute error of its input into a relative
    one of its output. The cap grows with u as the rest does.
    """
    squares, largest = _roundings(description)
    if largest is None:
        return FLOAT32_TOLERANCE
    return min(ROUNDING_FACTOR * math.sqrt(squares), largest.cap)


def explained_share(description: OmModel, name: str, expected: Array) -> float:
    """The share of the range of output `name` that the device's arithmetic explains.

    It is (default_tolerance * scale + last) / range. The scale of the values is their range, or,
    for fewer than FEWEST_FOR_A_RANGE values, their largest magnitude where that is larger.
    `last` is known without estimate: an output that is held in 16 bits was rounded once more
    when all else was done, by up to half the distance of its type at its largest magnitude. For
    values that are far from zero relative to their range, such as logarithms of probabilities, that
    one rounding outweighs all others. Where the expected data are such numbers themselves, they were
    rounded in the same way, and it counts twice.
    """
    theirs = _numbers(name, expected)
    unit = _range(theirs)
    if not unit:
        return default_tolerance(description)
    magnitude = float(np.abs(theirs[np.isfinite(theirs)]).max())
    scale = max(unit, magnitude) if theirs.size < FEWEST_FOR_A_RANGE else unit
    allowed = default_tolerance(description) * scale
    last = _held_in(description, name)
    if last is not None:
        allowed += last.half_spacing(magnitude) * (2 if last.has_all(theirs) else 1)
    return allowed / unit


def _roundings(description: OmModel) -> tuple[float, FloatGrid | None]:
    """The largest sum of squared roundings on a path to an output, and the coarsest grid.

    Of the chain it is the sum of the squares of the units.
    """
    sums: dict[int, tuple[float, FloatGrid | None]] = {}
    for node in description.nodes:
        before = _largest_terms(sums[index] for index in node.inputs if index in sums)
        row = find_operator(node.op)
        rounds = row is not None and row.rounds
        narrowed = rounds_to_hf32(node.attributes)
        for index in node.outputs:
            grid = GRIDS.get(description.tensors[index].dtype) if rounds else None
            roundings = 1 + STEPS.get(str(node.attributes.get("impl_mode")), 0)
            total = before[0] + (roundings * grid.unit**2 if grid else 0.0)
            total += HF32_OPERANDS * HF32.unit**2 if narrowed else 0.0
            grids = filter(None, (before[1], grid, HF32 if narrowed else None))
            sums[index] = total, max(grids, key=_unit_of, default=None)
    return _largest_terms(sums[port.tensor] for port in description.outputs if port.tensor in sums)


def _largest_terms(
    rows: Iterable[tuple[float, FloatGrid | None]],
) -> tuple[float, FloatGrid | None]:
    pairs = list(rows)
    coarsest = max((grid for _, grid in pairs if grid), key=_unit_of, default=None)
    return max((total for total, _ in pairs), default=0.0), coarsest


def _held_in(description: OmModel, name: str) -> FloatGrid | None:
    """The grid of the last computing kernel before an output, or None."""
    kinds = (GRIDS.get(tensor.dtype) for tensor in description.tensors)
    held = {at: grid for at, grid in enumerate(kinds) if grid is not None}
    for node in description.nodes:
        row = find_operator(node.op)
        moves = row is not None and (not row.rounds or node.op == "Cast")
        before = [held[at] for at in node.inputs if at in held]
        if moves and before:
            widest = max(before, key=_unit_of)
            held.update(
                {at: max(held.get(at, widest), widest, key=_unit_of) for at in node.outputs}
            )
    tensors = [port.tensor for port in description.outputs if port.name == name]
    return next((held[at] for at in tensors if at in held), None)


def _unit_of(grid: FloatGrid) -> float:
    return grid.unit


def _numbers(name: str, array: Array) -> npt.NDArray[np.float64]:
    """`array` in the precision of the comparison; refuse complex numbers."""
    try:
        DType.from_numpy(array.dtype)
    except UnknownDTypeError:
        text = Text("data for {name} must be real numbers, found {dtype}")
        raise BAD_RUN_INPUT.error(
            text.with_values(name=name, dtype=array.dtype.name),
            place=Place(field=Text("output {at}", at=name)),
        ) from None
    return array.astype(np.float64)


def _max_error(ours: npt.NDArray[np.float64], theirs: npt.NDArray[np.float64]) -> float:
    """The largest absolute difference; equal infinities and paired NaN differ by 0."""
    if not ours.size:
        return 0.0
    same = same_elements(ours, theirs)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.where(same, 0.0, np.abs(ours - theirs))
    return float(np.nan_to_num(difference, nan=np.inf, posinf=np.inf).max())


def _range(theirs: npt.NDArray[np.float64]) -> float:
    """Span of the finite expected values; of a constant, its magnitude.

    It is held within float64.
    """
    finite = theirs[np.isfinite(theirs)]
    if not finite.size:
        return 0.0
    span = min(float(finite.max()) - float(finite.min()), float(np.finfo(np.float64).max))
    return span or float(np.abs(finite).max())


def _cosine(ours: npt.NDArray[np.float64], theirs: npt.NDArray[np.float64]) -> float:
    """The cosine of the angle between both, over what is finite in both; 1 for zeros.

    Where nothing is, it is 1 for equal values, and 0 for others.
    """
    finite = np.isfinite(ours) & np.isfinite(theirs)
    if not finite.any():
        return float(same_elements(ours, theirs).all())
    a, b = _unit_vector(ours[finite]), _unit_vector(theirs[finite])
    if not a.any() or not b.any():
        return float(a.any() == b.any())
    return float(a @ b)


def _unit_vector(vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """`vector` with length 1, scaled by its largest element first so squares stay finite."""
    largest = np.abs(vector).max(initial=0.0)
    if largest == 0.0:
        return vector
    scaled = vector / largest
    unit: npt.NDArray[np.float64] = scaled / np.linalg.norm(scaled)
    return unit


def _same_argmax(ours: npt.NDArray[np.float64], theirs: npt.NDArray[np.float64]) -> bool:
    """True if argmax along the last axis agrees wherever the expected data have a best."""
    if not ours.size or not ours.ndim:
        return True
    best = best_places(theirs)
    return bool(((best < 0) | (best_places(ours) == best)).all())
