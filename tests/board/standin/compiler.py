"""atc: `atc-py atc`, with what mode 1 of a real one says of each output; the fault `fusion` leaves all fusions out."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from atc_py.cli.main import main as atc_py
from atc_py.package.reader import open_model
from tests.board.standin.device import DeviceOps


def with_origins(om: Path, document: Path) -> None:
    """Add to each output in the JSON of an .om which output of which ONNX node it is."""
    model = json.loads(document.read_text(encoding="utf-8"))
    with open_model(om) as package:
        ops = DeviceOps(package.description)
    for op in model["graph"][0]["op"]:
        for index, tensor in ops.outputs.get(op["name"], {}).items():
            origin, output = ops.origin(tensor)
            attributes: list[dict[str, Any]] = op["output_desc"][index].setdefault("attr", [])
            attributes.append({"key": "_datadump_origin_name", "value": {"s": origin}})
            if origin and output:
                attributes.append({"key": "_datadump_origin_output_index", "value": {"i": output}})
    document.write_text(json.dumps(model), encoding="utf-8")


def run(words: list[str]) -> None:
    options = dict(word.removeprefix("--").partition("=")[::2] for word in words)
    if "fusion" in os.environ.get("STANDIN_FAULT", "").split(",") and "mode" not in options:
        path = Path("other_fusion.cfg")
        path.write_text('{"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}')
        words = [
            *(word for word in words if "fusion_switch" not in word),
            f"--fusion_switch_file={path}",
        ]
    try:
        atc_py(["atc", *words])
    except SystemExit as done:
        if done.code:
            raise
    if options.get("mode") == "1":
        with_origins(Path(options["om"]), Path(options["json"]))


if __name__ == "__main__":
    run(sys.argv[1:])
