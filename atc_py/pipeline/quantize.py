"""Quantized models from one form into another: read, rewritten, written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag.codes import BAD_OPTION
from atc_py.frontend.reading.read import read_model
from atc_py.frontend.rewriting.qdq.rewriting import FORMS, rewrite_file
from atc_py.options.compile_options import AUTO, QuantBias
from atc_py.options.output_paths import rewritten_output
from atc_py.results.quantization import Quantization

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["rewrite_quantized"]


def rewrite_quantized(
    model: Path,
    output: str | os.PathLike[str] | None,
    form: str,
    quant_bias: str = AUTO,
    *,
    external: bool = False,
    on_stage: Callable[[str], None] | None = None,
) -> Quantization:
    """Write the quantized `model` in the form `form`; `on_stage` is called at the start of each stage.

    `quant_bias` names the convention of biases of int8 layers in the model.

    Raises:
        AtcError: with every finding; the previous file at the output is then unchanged.
    """
    if form not in FORMS:
        raise BAD_OPTION.error(
            f"no form is called {form!r}", help=f"forms are {' and '.join(FORMS)}"
        )
    convention = QuantBias.chosen(quant_bias)
    tell = on_stage or _no_progress
    path = rewritten_output(model, output, form, FORMS)
    tell("read")
    file = read_model(model)
    tell("rewrite")
    done = rewrite_file(file, path, form, external=external, quant_bias=convention)
    return Quantization(
        model=model,
        output=path,
        data=done.data,
        form=form,
        opset=done.opset,
        nodes=done.nodes,
        bytes_before=done.bytes_before,
        bytes_after=done.bytes_after,
        read_as=done.read_as,
        written_as=done.written_as,
    )


def _no_progress(_stage: str) -> None:
    """Ignore all progress."""
