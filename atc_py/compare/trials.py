"""Trial compilations: the model with some nodes kept in float32, against the recorded original."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from atc_py.compare.observed import DEVICES
from atc_py.compare.paired_run import Pair
from atc_py.package.reader import open_model
from atc_py.pipeline.convert import convert

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from atc_py.compare.paired_run import Feeds, Original
    from atc_py.compare.reference import ReferenceModel
    from atc_py.options.choices import ConvertChoice
    from atc_py.package.schema import OmModel
    from atc_py.results.layer_comparison import LayerComparison

__all__ = ["Compilation", "Trial", "Trials"]


@dataclass(frozen=True, slots=True)
class Compilation:
    """Options of a compilation, except the nodes to keep.

    Attributes:
        model: the ONNX file.
        soc: as in `convert`.
        input_shape: as in `convert`.
        op_specs: as in `convert`.
        precision: as in `convert`.
        reference: the file that runs in place of the model; None for the model itself.
    """

    model: Path
    soc: str
    input_shape: str | Mapping[str, Sequence[int]]
    op_specs: str | os.PathLike[str] | None
    precision: ConvertChoice
    reference: Path | None = None

    def write(
        self,
        output: Path,
        keep: Path | None = None,
        on_stage: Callable[[str], None] | None = None,
    ) -> None:
        """Compile to `output`, with `keep` in place of the user's own --keep-dtype file."""
        precision = self.precision.copy()
        if keep is not None:
            precision["keep_dtype"] = keep
        convert(
            self.model, output, soc=self.soc, input_shape=self.input_shape,
            op_specs=self.op_specs, on_stage=on_stage, **precision,
        )  # fmt: skip

    def kept_lines(self) -> tuple[str, ...]:
        """Return the lines of the user's own --keep-dtype file."""
        path = self.precision.get("keep_dtype")
        if path is None:
            return ()
        return tuple(Path(path).read_text(encoding="utf-8-sig").splitlines())


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of one compilation.

    Attributes:
        kept: lines beyond the user's own.
        model: the compiled model.
        done: its comparison.
    """

    kept: frozenset[str]
    model: OmModel
    done: LayerComparison


class Trials:
    """Compiles and compares; the original was run before.

    Attributes:
        count: compilations so far.
        own: lines of the user's own --keep-dtype file.
    """

    def __init__(
        self,
        compilation: Compilation,
        reference: ReferenceModel,
        samples: Sequence[tuple[Feeds, Original]],
        folder: Path,
        device: str = DEVICES[0],
    ) -> None:
        self._device = device
        self.count = 0
        self.own = compilation.kept_lines()
        self._compilation = compilation
        self._reference = reference
        self._samples = samples
        self._folder = folder

    def run(self, kept: Iterable[str], *, outputs_only: bool = True) -> Trial:
        """Compile with the lines `kept` beside the user's own, and compare.

        Raises:
            AtcError: what `convert` raises, NO_KERNEL for a node without float32 among them.
        """
        self.count += 1
        lines = sorted(kept)
        keep, om = self._folder / "keep.txt", self._folder / "trial.om"
        keep.write_text("".join(f"{line}\n" for line in (*self.own, *lines)), encoding="utf-8")
        self._compilation.write(om, keep if keep.stat().st_size else None)
        with open_model(om) as package:
            pair = Pair(self._reference, package, device=self._device)
            done = pair.compared(self._samples, outputs_only=outputs_only)
            return Trial(frozenset(lines), package.description, done)
