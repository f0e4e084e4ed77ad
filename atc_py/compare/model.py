"""`compare_model`: compile a model and hold every layer against the original."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from atc_py.api import convert, load
from atc_py.compare.pair import Pair
from atc_py.diag.codes import BAD_OPTION
from atc_py.frontend.reference import open_reference
from atc_py.package.reader import open_model

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Unpack

    from atc_py.api import PrecisionSettings
    from atc_py.report.layers import LayerComparison

    Array = npt.NDArray[np.generic]

__all__ = ["compare_model"]


def compare_model(  # noqa: PLR0913  (the options of a command)
    model: str | os.PathLike[str],
    *,
    inputs: Mapping[str, Array] | Iterable[str] = (),
    samples: int = 1,
    seed: int = 0,
    soc: str = "sim",
    precision_mode: str | None = None,
    input_shape: str | Mapping[str, Sequence[int]] = "",
    op_specs: str | os.PathLike[str] | None = None,
    on_stage: Callable[[str], None] | None = None,
    **precision: Unpack[PrecisionSettings],
) -> LayerComparison:
    """Compile an ONNX model and hold every layer against the original, run as its file says.

    Args:
        model: path of the .onnx file.
        inputs: arrays by name, or `name=file` texts as `atc-py run --input` takes them. Other
            inputs get random data that fit their dtype and what they are for.
        samples: how many times both are run, each time on other random data.
        seed: seed of the random data of the first sample; the next ones count on from it.
        soc: as in `convert`.
        precision_mode: as in `convert`.
        input_shape: as in `convert`.
        op_specs: as in `convert`.
        on_stage: called with the name of each stage as it begins.
        **precision: as in `convert`.

    Returns:
        Every layer with its figures, where its error was born, and what has no counterpart; up
        to the kernel that stopped, where bad data stopped one.

    Raises:
        AtcError: what `convert` raises; data that do not fit; REFERENCE_FAILED where nothing here
            runs the original; DEVICE_FAILED where the simulated device stops.
    """
    if samples < 1:
        raise BAD_OPTION.error(f"samples must be 1 or more, found {samples}")
    path = Path(model)
    with tempfile.TemporaryDirectory(prefix="atc-py-") as folder:
        om = Path(folder) / "model.om"
        convert(
            path, om, soc=soc, precision_mode=precision_mode, input_shape=input_shape,
            op_specs=op_specs, on_stage=on_stage, **precision,
        )  # fmt: skip
        if on_stage is not None:
            on_stage("compare")
        return _compared(path, om, inputs, samples, seed)


def _compared(
    path: Path,
    om: Path,
    inputs: Mapping[str, Array] | Iterable[str],
    samples: int,
    seed: int,
) -> LayerComparison:
    """The model at `path` beside the offline model `om`."""
    with load(om) as loaded:
        ports = loaded.inputs
    with open_model(om) as package:
        pair = Pair(open_reference(path), package, ports)
        given = pair.given(inputs)
        if samples > 1 and len(given) == len(ports):
            raise BAD_OPTION.error(
                f"{samples} samples of data that are all given would be the same",
                help="leave --samples out, or leave an input to random data",
            )
        return pair.compared(given, samples, seed)
