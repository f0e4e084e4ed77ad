"""Trial whether data of sizes between gears may be padded to the next one.

The original runs on random data of sizes between gears, and on the same data in the next gear,
padded with zeros and with other numbers. Where an output differs, padding is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.diag import GEARS_NOT_PADDED, Diagnostic, Place
from atc_py.onnx_graph.reading.contents import DeclaredInput
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.onnx_graph.running.piece import ENGINES, NotRunError, Piece, PieceSettings
from atc_py.options.auto_gears import OPTION, DimSum, Padding
from atc_py.options.gears import Gears
from atc_py.pipeline.running.gears import cuts, leaks_text, padded
from atc_py.system.structs import replace
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

Array = npt.NDArray[Any]
Sizes = Mapping[str, int]

_TRIED = 4
"""Gears below which sizes are tried."""

_SPAN = 16
"""Random integers are in [0, 16)."""

_PADDED_WITH = 8.0
"""Scale of the numbers that floats are padded with, beside zeros."""

_TOLERANCE = 1e-4
"""Largest difference, as a share of an output's range, that products of other sizes explain."""


def with_padding(file: OnnxFile, gears: Gears) -> Gears:
    """The gears with what is known of padding data for them."""
    if gears.padding is None:
        return gears
    trial = _Trial(file, gears, gears.padding)
    return replace(gears, padding=trial.padding())


def padding_warnings(gears: Gears, file: OnnxFile) -> tuple[Diagnostic, ...]:
    """The warning that data between gears cannot be padded."""
    padding = gears.padding
    if padding is None or not padding.leaks:
        return ()
    return (
        GEARS_NOT_PADDED.diagnostic(
            Text("only data of the gears' own sizes can run: {why}", why=leaks_text(padding)),
            place=Place(str(file.path), field=OPTION),
            help=Text(
                "list every size that is needed, or export the model with a mask for padding, "
                "such as attention_mask, and with positions as an input"
            ),
        ),
    )


def is_mask(declared: DeclaredInput) -> bool:
    """True if zeros in an input say what is padded, by its name."""
    return "mask" in declared.name.lower()


def piece_of(file: OnnxFile) -> Piece:
    """A whole file, to run on data of any shapes."""
    ir_version = file.proto.ir_version
    settings = PieceSettings(file.opsets, file.tensors, threads=0, ir_version=ir_version)
    return Piece(file.nodes, file.contents.weights, file.outputs, settings)


def results_of(piece: Piece, feeds: Mapping[str, Array]) -> dict[str, Array] | None:
    """The results on the first engine that runs it; None where none does."""
    for engine in ENGINES:
        with suppress(NotRunError):
            return dict(piece.run(feeds, engine))
    return None


@dataclass
class _Trial:
    """Runs of one model."""

    file: OnnxFile  # the original
    gears: Gears
    known: Padding  # the names of dims of its inputs
    # dims of outputs in runs so far, with the sizes of named dims
    shapes: list[tuple[dict[str, int], dict[str, Shape]]] = field(default_factory=list)
    _started: tuple[dict[str, int], Piece] | None = None

    def padding(self) -> Padding | None:
        """The padding after the trial; None where no size is between gears."""
        sizes = [self.known.sizes(self.gears.shapes_of(at)) for at in range(len(self.gears.gears))]
        names = sorted(name for name in sizes[0] if len({own[name] for own in sizes}) > 1)
        pairs = list(_between(sizes, names))
        if not pairs:
            return None
        try:
            expected = [self._run(own, self._feeds(own, at)) for at, (own, _) in enumerate(pairs)]
            for own in (sizes[0], sizes[-1]):
                self._run(own, self._feeds(own, 0))
        except NotRunError:
            return replace(self.known, leaks=("",))
        outputs = self._outputs(names)
        if outputs is None:
            return replace(self.known, leaks=("",))
        plain = replace(self.known, outputs=outputs)
        first: tuple[str, ...] = ()
        for front in chain.from_iterable(combinations(names, n) for n in range(len(names) + 1)):
            chosen = replace(plain, front=front)
            leaks = self._leaks(chosen, pairs, expected)
            if not leaks:
                return replace(chosen, empty=self._empty(chosen, sizes[0], names))
            first = first or leaks
        return replace(plain, leaks=first)

    def _leaks(
        self,
        padding: Padding,
        pairs: Sequence[tuple[dict[str, int], dict[str, int]]],
        expected: Sequence[Mapping[str, Array]],
    ) -> tuple[str, ...]:
        """The inputs whose padding shows in outputs; "" where the size itself does."""
        for at, (small, large) in enumerate(pairs):
            missing = {name: large[name] - small[name] for name in small}
            feeds = self._feeds(small, at)
            zeros = padded(feeds, padding, missing)
            if not self._same(padding, large, zeros, missing, expected[at]):
                return ("",)
            leaks: list[str] = []
            for name in (each.name for each in self.file.inputs if not is_mask(each)):
                zero, data = zeros[name], feeds[name]
                if zero.dtype.kind == "f" and zero.size != data.size:
                    place = cuts(padding, padding.inputs[name], missing)
                    others = {**zeros, name: _filled(zero, data, place)}
                    if not self._same(padding, large, others, missing, expected[at]):
                        leaks.append(name)
            if leaks:
                return tuple(leaks)
        return ()

    def _same(
        self,
        padding: Padding,
        sizes: dict[str, int],
        feeds: Mapping[str, Array],
        missing: Sizes,
        expected: Mapping[str, Array],
    ) -> bool:
        """True if the outputs, cut, are those that are expected."""
        try:
            results = self._run(sizes, feeds)
        except NotRunError:
            return False
        return all(
            _close(results[name][cuts(padding, padding.outputs[name], missing)], array)
            for name, array in expected.items()
        )

    def _empty(
        self, padding: Padding, least: dict[str, int], names: Sequence[str]
    ) -> tuple[str, ...]:
        """The names of dims of which data may have none."""
        found = []
        for name in names:
            small = {**least, name: 0}
            feeds = self._feeds(small, 0)
            missing = {each: least[each] - small[each] for each in least}
            try:
                expected = self._run(small, feeds)
            except NotRunError:
                continue
            if self._same(padding, least, padded(feeds, padding, missing), missing, expected):
                found.append(name)
        return tuple(found)

    def _feeds(self, sizes: Sizes, seed: int) -> dict[str, Array]:
        """Random data for these sizes; masks are 1, but some are 0 with an odd seed."""
        random = np.random.default_rng(seed)
        found: dict[str, Array] = {}
        for declared in self.file.inputs:
            shape = tuple(dim.value(sizes) for dim in self.known.inputs[declared.name])
            dtype = dtype_of_element(declared.element)
            kind = np.dtype(np.float32) if dtype is None else dtype.numpy
            array: Array
            if is_mask(declared) or kind.kind == "b":
                array = random.integers(0, 4, shape) > 0 if seed % 2 else np.ones(shape, np.bool_)
                array[..., -1:] = True
            elif kind.kind in "iu":
                array = random.integers(0, _SPAN, shape)
            else:
                array = random.standard_normal(shape)
            found[declared.name] = array.astype(kind)
        return found

    def _run(self, sizes: dict[str, int], feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the original."""
        if self._started is None or self._started[0] != sizes:
            self._started = sizes, piece_of(self.file)
        results = results_of(self._started[1], feeds)
        if results is None:
            raise NotRunError
        self.shapes.append((sizes, {name: array.shape for name, array in results.items()}))
        return results

    def _outputs(self, names: Sequence[str]) -> dict[str, tuple[DimSum, ...]] | None:
        """The dims of outputs as sums of named dims, None where they are none."""
        found: dict[str, tuple[DimSum, ...]] = {}
        for output in self.file.outputs:
            shapes = [(sizes, shapes[output]) for sizes, shapes in self.shapes]
            dims = [
                _explained([(sizes, shape[axis]) for sizes, shape in shapes], names)
                for axis in range(len(shapes[0][1]))
            ]
            if any(dim is None for dim in dims):
                return None
            found[output] = tuple(dim for dim in dims if dim is not None)
        return found


def _filled(zeros: Array, data: Array, place: tuple[slice, ...]) -> Array:
    """Data padded with random numbers where `zeros` has 0."""
    random = np.random.default_rng(zeros.ndim)
    found = (random.standard_normal(zeros.shape) * _PADDED_WITH).astype(data.dtype)
    found[place] = data
    return found


def _between(
    sizes: Sequence[dict[str, int]], names: Sequence[str]
) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """Yield some sizes between gears, with those of the next gear."""
    random = np.random.default_rng(0)
    listed = {name: sorted({own[name] for own in sizes}) for name in names}
    least = [
        {
            name: min(max((n for n in listed[name] if n < own[name]), default=0) + 1, own[name])
            for name in names
        }
        for own in sizes
    ]
    wide = [at for at, own in enumerate(sizes) if any(own[n] > least[at][n] for n in names)]
    chosen = {wide[at * (len(wide) - 1) // (_TRIED - 1)] for at in range(_TRIED) if wide}
    for at in sorted(chosen):
        large = sizes[at]
        drawn = {
            name: int(random.integers(low, max(large[name], low + 1)))
            for name, low in least[at].items()
        }
        yield {**large, **drawn}, large


def _explained(rows: Sequence[tuple[Sizes, int]], names: Sequence[str]) -> DimSum | None:
    """The sum of at most two names and a number that dims are for sizes."""
    for count in range(3):
        for chosen in combinations(names, count):
            rest = {dim - sum(sizes[name] for name in chosen) for sizes, dim in rows}
            if len(rest) == 1 and min(rest) >= 0:
                return DimSum(chosen, rest.pop())
    return None


def _close(array: Array, expected: Array) -> bool:
    if array.shape != expected.shape:
        return False
    if array.dtype.kind != "f" or not array.size:
        return bool(np.array_equal(array, expected))
    finite = np.abs(expected[np.isfinite(expected)])
    limit = _TOLERANCE * (float(finite.max()) if finite.size else 0.0)
    return bool(np.allclose(array, expected, rtol=0, atol=limit, equal_nan=True))
