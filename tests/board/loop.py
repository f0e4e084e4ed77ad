"""The whole loop on the stand-in for CANN, for networks: `python -m tests.board.loop [NAME...]`.

A kit is packed, its script runs on the stand-in, and what comes back is compared with the kit; then once
more for each fault that a host may have, which `board compare` must name. It needs the shared networks; the text recognizer is quantized from the model in rapidocr's wheel, whose path is in
ATC_PY_RECOGNIZER.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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

FAULTS = {"fusion": "ATC7082", "slow": "ATC7086", "second": "ATC7081"}
"""Faults of the stand-in, with the code of what names them."""

ANOTHER_RELEASE = "ATC7085"
"""A kit for CANN 9.1 on the stand-in, which says 8.0.0."""

FLOATS = frozenset({"float16", "float32"})
READ_FAILED = 3


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
    return [str(folder / "rec.onnx"), *words, "--data", str(folder / "line.npy")]


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


def compared(kit: Path, archive: Path) -> tuple[int, Any, set[str]]:
    """Exit status, document and codes of `board compare`."""
    words = ["-m", "atc_py", "board", "compare", str(kit), str(archive), "--json"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    runs = document.get("comparisons", [])
    found = [*document.get("findings", document.get("diagnostics", []))]
    found += [each for run in runs for each in run["findings"]]
    return done.returncode, document, {each["code"] for each in found}


def unnamed_faults(kit: Path, sound: Path, folder: Path) -> Iterator[str]:
    """Yield faults that are put in and that the comparison does not name.

    Args:
        kit: as it was packed.
        sound: results of a sound host.
        folder: for copies of the kit.
    """
    status, document, codes = compared(kit, sound)
    if status or codes - {ANOTHER_RELEASE}:
        yield f"a sound host: status {status}, {sorted(codes)}"
    layers = [
        layer["op"]
        for layer in document["comparisons"][0]["layers"]
        if layer["state"] == "compared" and layer["dtype"] in FLOATS
    ]
    wrong = layers[len(layers) // 2]
    for fault, code in {f"layer:{wrong}": "ATC7080", **FAULTS}.items():
        own = shutil.copytree(kit, folder / fault.partition(":")[0] / "kit")
        Host(own.parent / "host", fault=fault).run(own)
        _, document, codes = compared(kit, own / ARCHIVE)
        first = document["comparisons"][0]["first_on_the_board"]
        if code not in codes or (code == "ATC7080" and first != wrong):
            yield f"{fault}: {sorted(codes)}, first layer {first}"
    own = shutil.copytree(kit, folder / "soc" / "kit")
    Host(own.parent / "host", soc="Ascend310B1").run(own)
    if "ATC7083" not in compared(kit, own / ARCHIVE)[2]:
        yield "another SoC is not named"
    cut = folder / "cut.zip"
    cut.write_bytes(sound.read_bytes()[: sound.stat().st_size // 2])
    if compared(kit, cut)[0] != READ_FAILED:
        yield "an archive cut in two is read"


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
            untouched = shutil.copytree(kit, folder / "untouched" / "kit")
            done = Host(folder / "host", bench=True).run(kit)
            faults = [*faults_of(kit), *unnamed_faults(untouched, kit / ARCHIVE, folder)]
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
