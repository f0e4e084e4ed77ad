"""The whole loop on the stand-in for CANN, for networks: `python -m tests.board.loop [NAME...]`.

A kit is packed, its script runs on the stand-in, and what comes back is compared with the kit. It needs
the shared networks; the text recognizer is quantized from the model in rapidocr's wheel, whose path is in
ATC_PY_RECOGNIZER.
"""

import hashlib
import os
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import onnx

import atc_py
from atc_py.adapters.board.layout import (
    ARCHIVE,
    RESULTS,
    BoardResults,
    BoardRun,
    ExpectedLayers,
    Manifest,
)
from tests.aipp_graph.networks import NV12, config
from tests.board.conftest import residual_model
from tests.board.standin.host import Host

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "models"
RECOGNIZER = "ATC_PY_RECOGNIZER"


def shared_network(name: str) -> Callable[[Path], list[str]]:
    return lambda _folder: [str(SHARED / name / "model.onnx")]


def pictures(folder: Path) -> list[str]:
    """A network that takes pictures in two sizes."""
    model = folder / "pictures.onnx"
    onnx.save(residual_model(size=("h", "w")), model)
    line = ["--input-shape", "x:1,3,-1,-1", "--image-sizes", "16,16;32,32"]
    return [str(model), *line, "--aipp", str(config(folder, NV12))]


def recognizer(folder: Path) -> list[str]:
    """The text recognizer on int8."""
    data = np.random.default_rng(0).random((2, 3, 48, 320), np.float32) * 2 - 1
    np.save(folder / "lines.npy", data)
    atc_py.quantize(
        os.environ[RECOGNIZER],
        folder / "rec.onnx",
        data=folder / "lines.npy",
        input_shape="x:1,3,48,320",
    )
    np.save(folder / "line.npy", data[:1])
    words = ["--input-shape", "x:1,3,48,320", "--reference", os.environ[RECOGNIZER]]
    return [str(folder / "rec.onnx"), *words, "--samples", str(folder / "line.npy")]


NETWORKS: dict[str, Callable[[Path], list[str]]] = {
    "resnet": shared_network("resnet_mini_opset9"),
    "bert": shared_network("bert_mini_opset11"),
    "lstm": shared_network("lstm_cls_opset11"),
    "pictures": pictures,
    "recognizer": recognizer,
}


def packed(words: list[str], folder: Path, soc: str = "Ascend310P3") -> Path:
    """Pack a kit by the command line; return its folder."""
    from atc_py.cli.main import main

    kit = folder / "kit"
    try:
        main(["board", "pack", *words, "--soc", soc, "-o", str(kit)])
    except SystemExit as done:
        if done.code:
            raise
    return kit


def faults_of(kit: Path, *variants: str) -> Iterator[str]:
    """Yield what is wrong with results of variants, by default of all, on the sound stand-in."""
    manifest = msgspec.json.decode((kit / "manifest.json").read_bytes(), type=Manifest)
    with zipfile.ZipFile(kit / ARCHIVE) as archive:
        results = msgspec.json.decode(archive.read(RESULTS), type=BoardResults)
        for entry in results.files:
            data = archive.read(entry.path)
            if (len(data), hashlib.sha256(data).hexdigest()) != (entry.bytes, entry.sha256):
                yield f"{entry.path} is not what results.json says"
        for step in results.steps:
            if step.state != "done":
                yield f"{step.name}: {step.state}: {step.message}"
        for variant in variants or [each.name for each in manifest.variants]:
            for sample in manifest.samples:
                yield from _faults_of_runs(kit, archive, variant, sample.name)


def _faults_of_runs(
    kit: Path, archive: zipfile.ZipFile, variant: str, sample: str
) -> Iterator[str]:
    expected = kit / "expected" / variant / sample
    for kind in ("plain", "dump"):
        at = f"{variant}/{kind}/{sample}"
        run = msgspec.json.decode(archive.read(f"{at}/run.json"), type=BoardRun)
        for i in range(len(run.outputs)):
            if archive.read(f"{at}/{i}.npy") != (expected / f"{i}.npy").read_bytes():
                yield f"{at}: output {i} is not the simulator's"
    tree = f"{variant}/dump/{sample}/tree/"
    dumped = [name for name in archive.namelist() if name.startswith(tree)]
    layers = msgspec.json.decode(
        (expected / "layers.json").read_bytes(), type=ExpectedLayers
    ).layers
    if not 0 < len(dumped) <= len(layers):
        yield f"{variant}: {len(dumped)} dumps of {len(layers)} layers"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    status = 0
    for name in sys.argv[1:] or NETWORKS:
        with tempfile.TemporaryDirectory() as text:
            folder, started = Path(text), time.monotonic()
            words = NETWORKS[name](folder)
            kit = packed(words, folder)
            size, model = (kit.parent / "kit.zip").stat().st_size, Path(words[0]).stat().st_size
            done = Host(folder / "host").run(kit)
            faults = [*faults_of(kit)]
            if size > 1.3 * model and model > 1 << 20:
                faults.append(f"the kit has {size} bytes, its model {model}")
            seconds = time.monotonic() - started
            say(
                f"{name}: kit {size / model:.2f} of the model, status {done.returncode}, {seconds:.0f} s"
            )
            for fault in faults:
                say(f"  {fault}")
            status |= bool(faults or done.returncode)
    return status


if __name__ == "__main__":
    sys.exit(main())
