"""msprof: runs a program on the simulated device and writes its tables in the form of a release of CANN.

STANDIN_CANN chooses it: 2022 (tables in `device_0/summary`, made by --export alone), 2024, 2026.
"""

import csv
import io
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

GENERATION = os.environ.get("STANDIN_CANN", "2024")
START = 1_700_000_000_000_000.0
SHAPES = [
    "Input Shapes",
    "Input Data Types",
    "Input Formats",
    "Output Shapes",
    "Output Data Types",
    "Output Formats",
]
LOG = "host/data/launches.jsonl"


def columns(*, split: bool) -> list[str]:
    """The names of op_summary's columns; `split` for SoCs with vector cores of their own."""
    head = {
        "2022": ["Model Name", "Model ID", "Task ID", "Stream ID", "Infer ID", "Op Name", "OP Type", "Task Type",
                 "Task Start Time", "Task Duration(us)", "Task Wait Time(us)", "Block Dim"],
        "2024": ["Device_id", "Model ID", "Task ID", "Stream ID", "Op Name", "OP Type", "OP State", "Task Type",
                 "Task Start Time(us)", "Task Duration(us)", "Task Wait Time(us)", "Block Dim", "Mix Block Dim", "HF32 Eligible"],
        "2026": ["Device_id", "Model ID", "Task ID", "Stream ID", "Op Name", "OP Type", "OP State", "Task Type",
                 "Task Start Time(us)", "Task Duration(us)", "Task Wait Time(us)", "Block Num", "Mix Block Num", "HF32 Eligible"],
    }[GENERATION]  # fmt: skip
    if split:
        units = ["Context ID", "aicore_time(us)", "aic_total_cycles", "aic_mac_time(us)", "aic_mac_ratio",
                 "aiv_time(us)", "aiv_total_cycles", "aiv_vec_time(us)", "aiv_vec_ratio", "cube_utilization(%)"]  # fmt: skip
    else:
        units = [
            "aicore_time(us)",
            "total_cycles",
            "vec_time(us)",
            "vec_ratio",
            "mac_time(us)",
            "mac_ratio",
        ]
    return [*head, *SHAPES, *units]


def op_summary(launches: Iterable[Mapping[str, Any]]) -> str:
    split = os.environ.get("STANDIN_SOC", "").startswith(("Ascend910B", "Ascend910_93"))
    names = columns(split=split)
    tab = "" if GENERATION == "2022" else "\t"
    now, rows = START, []
    for launch in launches:
        sides = zip(launch["dims"], launch["dtypes"], launch["formats"], strict=True)
        texts = [text for dims, types, formats in sides for text in described(dims, types, formats)]
        spent = f"{launch['us']:.3f}"
        row = {
            "Model Name": launch["model"], "Model ID": launch["model_id"], "Task ID": launch["task"],
            "Stream ID": 0, "Infer ID": 1, "Device_id": 0, "Op Name": launch["name"], "OP Type": launch["type"],
            "OP State": "static", "Task Type": "AI_CORE", "Task Start Time": f"{now:.3f}{tab}",
            "Task Start Time(us)": f"{now:.3f}{tab}", "Task Duration(us)": spent, "Task Wait Time(us)": "0.0",
            "Block Dim": 8, "Block Num": 8, "Mix Block Dim": 0, "Mix Block Num": 0, "HF32 Eligible": "NO",
            **dict(zip(SHAPES, texts, strict=True)), "aicore_time(us)": spent,
        }  # fmt: skip
        rows.append([row.get(name, "N/A") for name in names])
        now += launch["us"]
    return table(names, rows)


def described(dims: list[list[int]], types: list[str], formats: list[str]) -> tuple[str, str, str]:
    """Shapes, which have quotes of their own, dtypes and formats."""
    shapes = ";".join(",".join(map(str, shape)) for shape in dims)
    words = (each if each == "DT_BF16" else each.removeprefix("DT_") for each in types)
    return f'"{shapes}"', ";".join(words), ";".join(formats)


def op_statistic(launches: Iterable[Mapping[str, Any]]) -> str:
    times = defaultdict(list)
    for launch in launches:
        times[launch["type"]].append(launch["us"])
    whole = sum(map(sum, times.values()))
    names = ["Device_id", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)",
             "Max Time(us)", "Ratio(%)"]  # fmt: skip
    rows = [
        [
            0,
            kind,
            "AI_CORE",
            len(own),
            sum(own),
            min(own),
            sum(own) / len(own),
            max(own),
            100 * sum(own) / whole,
        ]
        for kind, own in sorted(times.items(), key=lambda pair: -sum(pair[1]))
    ]
    return table(names, rows)


def table(names: list[str], rows: Iterable[list[Any]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return file.getvalue()


def export(folder: Path) -> None:
    lines = (folder / LOG).read_text(encoding="utf-8").splitlines()
    launches = [json.loads(line) for line in lines]
    if GENERATION == "2022":
        target, suffix = folder / "device_0" / "summary", "_0_1_1"
    else:
        target, suffix = folder / "mindstudio_profiler_output", "_20260101000000"
    target.mkdir(parents=True)
    (target / f"op_summary{suffix}.csv").write_text(op_summary(launches), encoding="utf-8")
    (target / f"op_statistic{suffix}.csv").write_text(op_statistic(launches), encoding="utf-8")


def main() -> None:
    options = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[1:])
    folder = Path(options["output"])
    if options.get("export") == "on":
        export(folder)
        return
    prof = folder / "PROF_000001_20260101000000000_ABCDEFGHIJKLMNOP"
    log = prof / LOG
    log.parent.mkdir(parents=True)
    log.touch()
    own = {"PYTHONPATH": str(Path(__file__).parent / "python"), "STANDIN_PROFILE": str(log)}
    subprocess.call(options["application"].split(), env={**os.environ, **own})
    if GENERATION != "2022" and log.stat().st_size:
        export(prof)


if __name__ == "__main__":
    main()
