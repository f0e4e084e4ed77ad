"""Open exported models with Netron's own loader, and check what it shows.

    python -m tests.device.ort.netron [FOLDER OF NETRON]

Netron's modules come from its wheel, which is fetched once. The shared networks and the quantized
ones of the tests are exported; every node of theirs must have its body there, and its metadata.
"""

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import atc_py
from tests.bench.networks import MODELS

LOADER = Path(__file__).with_name("netron_load.mjs")
CACHE = Path.home() / ".cache" / "atc-py" / "netron"
WHEEL = "netron==9.3.3"


def netron_folder() -> Path:
    """Return the folder with Netron's modules, fetched where they are not there yet."""
    folder = CACHE / "netron"
    if not folder.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(CACHE)]
        subprocess.run([*fetch, WHEEL], check=True)
        (wheel,) = CACHE.glob("netron-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(CACHE)
        # Modules of Netron's are ECMAScript's, which Node takes `.js` for if a package says so.
        (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    return folder


def opened(files: list[Path]) -> list[dict[str, Any]]:
    """Return what Netron's loader makes of ONNX files."""
    command = ["node", str(LOADER), str(netron_folder()), *map(str, files)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _faults(shown: dict[str, Any]) -> list[str]:
    """Return what is wrong with a model as Netron shows it."""
    called = [node for node in shown["nodes"] if node["type"] not in {"Identity", "If"}]
    faults = [f"{node['name']} has no body" for node in called if not node["body"]]
    faults += [
        f"{node['name']} has no metadata"
        for node in called
        if node["metadata"].get("ascend.op") != node["type"]
    ]
    return faults if shown["functions"] else [*faults, "there are no functions"]


def main() -> None:
    """Export every network and open it."""
    models = sorted(MODELS.glob("*/model.onnx"))
    if not models:
        raise SystemExit("the shared models are not there")
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        files = []
        for model in models:
            files.append(Path(name) / f"{model.parent.name}.onnx")
            atc_py.export_model(model, files[-1])
        files += _quantized(Path(name))
        for shown in opened(files):
            faults = _faults(shown)
            wrong += bool(faults)
            title = Path(shown["file"]).stem
            sys.stdout.write(
                f"{title}: {len(shown['nodes'])} nodes, {shown['functions']} functions"
                f"{'; ' + '; '.join(faults[:3]) if faults else ''}\n"
            )
    if wrong:
        raise SystemExit(f"{wrong} models have faults")


def _quantized(folder: Path) -> list[Path]:
    """Export networks that onnxruntime's quantizer made."""
    from tests.networks.test_quantized_networks import NETWORKS, SCHEMES, made

    files = []
    for name in NETWORKS:
        work = folder / name
        work.mkdir()
        _, model = made(name, SCHEMES[1], work)
        files.append(folder / f"{name}-int8.onnx")
        atc_py.export_model(model, files[-1])
    return files


if __name__ == "__main__":
    main()
