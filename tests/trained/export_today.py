"""Exports of today's architectures: `python tests/trained/export_today.py [NETWORK...]` writes those that are missing.

Each network is exported by the tracing exporter at opset 17 and by the one of torch.export at opset
20, its default; the data of the example is beside each file.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
from transformers import masking_utils

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.trained.exports import TODAY_OPSETS, today_path
from tests.trained.today import NETWORKS, build


def _broadcast(mask: Callable[..., torch.Tensor], **_: object) -> Callable[..., torch.Tensor]:
    """A mask of batch, head, query and key by broadcasting, since tracing cannot follow vmap."""

    def over(b: torch.Tensor, h: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return mask(
            b[:, None, None, None],
            h[None, :, None, None],
            q[None, None, :, None],
            k[None, None, None],
        )

    return over


def export(network: str, path: Path, opset: int) -> None:
    """Write one export and its data; a file that is there is whole."""
    model, examples = build(network)
    started, values = path.with_suffix(".part"), tuple(examples.values())
    traced = path.stem.endswith("traced")
    if traced:
        masking_utils._vmap_for_bhqkv = _broadcast
        masking_utils.TransformGetItemToIndex = nullcontext
    form = {} if traced else {"external_data": False}
    with torch.no_grad():
        model(*values)
        torch.onnx.export(
            model,
            values,
            str(started),
            dynamo=not traced,
            input_names=list(examples),
            output_names=["result"],
            opset_version=opset,
            verbose=False,
            **form,
        )
    np.savez(path.with_suffix(".npz"), **{name: each.numpy() for name, each in examples.items()})
    started.replace(path)


def main() -> int:
    """Write the exports that are missing; 1 where one failed."""
    failed, chosen = 0, sys.argv[1:]
    for network in chosen or NETWORKS:
        for exporter, opset in TODAY_OPSETS.items():
            path = today_path(network, exporter)
            if path.exists():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    export(network, path, opset)
            except Exception:  # noqa: BLE001  (exporters raise anything; the others go on)
                traceback.print_exc()
                failed = 1
            print(path.stem, path.stat().st_size if path.exists() else "failed", flush=True)  # noqa: T201
    return failed


if __name__ == "__main__":
    sys.exit(main())
