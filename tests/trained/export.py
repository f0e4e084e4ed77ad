"""Exports of PyTorch: `python tests/trained/export.py [NETWORK...]` writes those that are missing.

It runs in an environment of its own, with torch, transformers and onnxscript: see `make exports`.
Each network is exported by the tracing exporter and by the one of torch.export; the former leaves
the first dim of every input open.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.trained.architectures import build
from tests.trained.exports import EXPORTS, Export, export_path


def export(wanted: Export, path: Path) -> None:
    """Write one export; a file that is there is whole."""
    model, examples = build(wanted.network)
    started = path.with_suffix(".part")
    common = {
        "input_names": list(examples),
        "output_names": ["result"],
        "opset_version": wanted.opset,
    }
    values = tuple(examples.values())
    with torch.no_grad():
        if wanted.traced:
            open_dims = {name: {0: "batch"} for name in examples}
            torch.onnx.export(
                model, values, str(started), dynamo=False, dynamic_axes=open_dims, **common
            )
        else:
            torch.onnx.export(
                model, values, str(started), dynamo=True, external_data=False, **common
            )
    started.replace(path)


def main() -> int:
    """Write the exports that are missing; 1 where one failed."""
    failed = 0
    for each in EXPORTS:
        path = export_path(each)
        if path.exists() or (sys.argv[1:] and each.network not in sys.argv[1:]):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                export(each, path)
        except Exception:  # noqa: BLE001  (exporters raise anything; the others go on)
            traceback.print_exc()
            failed = 1
        print(each.name, path.stat().st_size if path.exists() else "failed")  # noqa: T201
    return failed


if __name__ == "__main__":
    sys.exit(main())
