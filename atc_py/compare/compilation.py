"""Options of a compilation that is made again and again, with other nodes kept in float32 each time."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from atc_py.options.choices import ConvertChoice
from atc_py.pipeline.convert import convert

Lines = tuple[tuple[str, ...], tuple[str, ...]]
"""Lines of a --keep-dtype and of a --customize-dtypes file."""


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
        custom: Path | None = None,
    ) -> None:
        """Compile to `output`, with `keep` and `custom` in place of the user's own files.

        They are a --keep-dtype and a --customize-dtypes file.
        """
        precision = self.precision.copy()
        if keep is not None:
            precision["keep_dtype"] = keep
        if custom is not None:
            precision["customize_dtypes"] = custom
        convert(
            self.model, output, soc=self.soc, input_shape=self.input_shape,
            op_specs=self.op_specs, on_stage=on_stage, **precision,
        )  # fmt: skip

    def write_with(self, output: Path, lines: Lines, folder: Path) -> None:
        """Compile to `output` with lines of a --keep-dtype and a --customize-dtypes file.

        The files are written to `folder`, and take the place of the user's own.
        """
        paths: list[Path | None] = []
        for rows, name in zip(lines, ("keep.txt", "custom.txt"), strict=True):
            path = folder / name
            path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
            paths.append(path if rows else None)
        self.write(output, paths[0], custom=paths[1])

    def kept_lines(self) -> tuple[str, ...]:
        """The lines of the user's own --keep-dtype file."""
        return _lines(self.precision.get("keep_dtype"))

    def custom_lines(self) -> tuple[str, ...]:
        """The lines of the user's own --customize-dtypes file."""
        return _lines(self.precision.get("customize_dtypes"))


def _lines(path: str | os.PathLike[str] | None) -> tuple[str, ...]:
    """The lines of a file; none of none."""
    return () if path is None else tuple(Path(path).read_text(encoding="utf-8-sig").splitlines())
