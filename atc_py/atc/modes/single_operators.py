"""`--singleop`: a list of target operators, each compiled to an offline model of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from atc_py.options.compile_options import CompileOptions

__all__ = ["compile_single_operators"]


def compile_single_operators(
    definitions: Path, output: Path, options: CompileOptions
) -> list[Path]:
    """Compile the operators of a JSON file to `output`, a folder, which is made where it is missing.

    Raises:
        AtcError: the file has no meaning, with E10023 to E10032 or E13014; an operator does not
            compile. Models of the operators before it stay.
    """
    raise NotImplementedError
