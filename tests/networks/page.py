"""docs/networks.md: what each SoC makes of the shared networks, in floats and quantized.

`python -m tests.networks.page --write` makes it again; it needs the shared models.
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnxruntime.quantization import QuantType

import atc_py
from atc_py.cost.network import network_cost
from atc_py.diag import AtcError
from tests.networks.quantized import Scheme, feeds_for, prepared, quantized

Arrays = Mapping[str, npt.NDArray[Any]]


MODELS = Path(__file__).resolve().parents[2].parent / "shared" / "models"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "networks.md"

SOCS = ("sim", "Ascend310", "Ascend310P3", "Ascend310B1", "Ascend910A", "Ascend910B3")
MODES = ("force_fp16", "must_keep_origin_dtype", "allow_mix_precision")
QUANTIZED = (
    "espcn_opset12",
    "resnet_mini_opset9",
    "mobilenetv2_opset13",
    "unet_opset13",
    "vit_mini_opset13",
)
SCHEME = Scheme("uint8", data=QuantType.QUInt8, weights=QuantType.QInt8, per_channel=True)

_HEAD = """\
<!-- Derived from a run over all networks; `make networks` writes it again. -->

# Networks by SoC

What each SoC makes of eleven networks with random weights: launches, expected time in microseconds by the
[cost model](cost-model.md), and the error of the results, which is the root mean square of their difference from
onnxruntime's float32 as a share of their own. Why SoCs differ is in [precision.md](precision.md) (HF32, roundings between
steps, lists of the mixed modes, kernels that do not exist), [layout.md](layout.md), [fusion.md](fusion.md) and
[quantization.md](quantization.md). `-` is refused, by a rule of the list or for want of a kernel. The activations of mobilenetv2
overflow float16 on every SoC. Products are added up by OpenBLAS's kernels for
AVX2, which every x86-64 machine of today has; those for other CPUs change errors of float16 by up to a factor of three.
"""

_QUANTIZED = """\
## Quantized

Five of them, quantized by onnxruntime (QDQ, uint8 data, int8 weights for each channel) and compiled in force_fp16. The error is that
against onnxruntime on the quantized network. Layers on int8: those whose sums are integers after the passes; on
Ascend310, 310P and 910 layers of at most 16 input channels are taken back to float16.
"""


@dataclass(frozen=True)
class _Cell:
    """Figures of one network on one SoC; `launches` 0 where it is refused."""

    launches: int = 0
    microseconds: float = 0.0
    error: float = 0.0
    int8: int = 0

    def text(self, *, layers: bool = False) -> str:
        """Return the cell of a table."""
        if not self.launches:
            return "-"
        parts = [str(self.launches), f"{self.microseconds:.0f}", f"{self.error:.1e}"]
        return ", ".join([*parts, str(self.int8)] if layers else parts)


def row_of(name: str, soc: str, mode: str) -> str:
    """Return the cell of one shared network."""
    folder = MODELS / name
    feeds, expected = (_arrays(folder / file) for file in ("inputs.npz", "expected.npz"))
    return _cell(folder / "model.onnx", soc, mode, feeds, expected).text()


def rows_of_quantized(name: str, socs: tuple[str, ...] = SOCS) -> list[str]:
    """Return the cells of one network that is quantized, by SoC."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        source, target = folder / "float.onnx", folder / "quantized.onnx"
        prepared(MODELS / name / "model.onnx", source, even=name.startswith("mobilenet"))
        quantized(source, target, SCHEME)
        (feeds,) = feeds_for(source, 1, 99)
        session = onnxruntime.InferenceSession(str(target))
        names = [each.name for each in session.get_outputs()]
        expected: Any = dict(zip(names, session.run(names, dict(feeds)), strict=True))
        cells = [_cell(target, soc, "force_fp16", feeds, expected) for soc in socs]
    return [cell.text(layers=True) for cell in cells]


def _cell(model: Path, soc: str, mode: str, feeds: Arrays, expected: Arrays) -> _Cell:
    """Compile, estimate and run one network."""
    with tempfile.TemporaryDirectory() as folder:
        om = Path(folder) / "n.om"
        try:
            atc_py.convert(model, om, soc=soc, precision_mode=mode)
        except AtcError:
            return _Cell()
        with atc_py.load(om) as compiled:
            found = compiled.run({port.name: feeds[port.name] for port in compiled.inputs})
            description = compiled.description
            cost = network_cost(description)
    tensors = description.tensors
    cube = {"Conv2D", "DepthwiseConv2D", "Conv2DTransposeD", "MatMulV2", "BatchMatMulV2"}
    int8 = sum(
        node.op in cube and tensors[node.inputs[0]].dtype == "int8" for node in description.nodes
    )
    return _Cell(len(cost.kernels), cost.time.expected * 1e6, max(_errors(found, expected)), int8)


def _errors(found: Arrays, expected: Arrays) -> Iterator[float]:
    """Yield the error of each result."""
    for name, wanted in expected.items():
        exact = wanted.astype(np.float64)
        size = float(np.sqrt(np.mean(exact**2))) or 1.0
        yield float(np.sqrt(np.mean((found[name].astype(np.float64) - exact) ** 2))) / size


def _arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a file by name."""
    with np.load(path) as file:
        return dict(file)


def page() -> str:
    """Return the page."""
    names = sorted(path.parent.name for path in MODELS.glob("*/model.onnx"))
    heads = [f"| network | {' | '.join(SOCS)} |", "| --- " * (len(SOCS) + 1) + "|"]
    lines = [_HEAD]
    for mode in MODES:
        lines += [f"## {mode}", "", "Launches, microseconds, error.", "", *heads]
        lines += [
            f"| {name} | {' | '.join(row_of(name, soc, mode) for soc in SOCS)} |" for name in names
        ]
        lines.append("")
    lines += [_QUANTIZED, "Launches, microseconds, error, layers on int8.", "", *heads]
    lines += [f"| {name} | {' | '.join(rows_of_quantized(name))} |" for name in QUANTIZED]
    return "\n".join(lines) + "\n"


if __name__ == "__main__" and "--write" in sys.argv:
    PAGE.write_text(page(), encoding="utf-8")
