"""The options of ais_bench's command line, and of its successor `msit benchmark`."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from atc_py.adapters.ais_bench.log_lines import refused

_YES = {"yes", "true", "t", "y", "1"}
_NO = {"no", "false", "f", "n", "0"}
_MOST_DEVICES = 255
_WITHOUT_EFFECT = "has no effect on the simulated device"


class BenchEffect:
    """The effects that an option can have here."""

    DONE = "done"
    ACCEPTED = "accepted"
    REFUSED = "refused"


def _truth(text: str) -> bool:
    word = text.lower()
    if word in _YES | _NO:
        return word in _YES
    raise argparse.ArgumentTypeError(
        "Boolean value expected true, 1, false, 0 with case insensitive."
    )


def _positive(text: str) -> int:
    if (number := int(text)) <= 0:
        raise argparse.ArgumentTypeError(f"{text} is an invalid positive int value")
    return number


def _count(text: str) -> int:
    if (number := int(text)) < 0:
        raise argparse.ArgumentTypeError(f"{text} is an invalid nonnegative int value")
    return number


def _devices(text: str) -> list[int]:
    numbers = [int(part) for part in text.split(",")]
    for number in numbers:
        if not 0 <= number <= _MOST_DEVICES:
            raise argparse.ArgumentTypeError(
                f"{number} of device:{text} is invalid. valid value range is [0, {_MOST_DEVICES}]"
            )
    return numbers


@dataclass(frozen=True, slots=True)
class BenchOption:
    """An option.

    Attributes:
        spellings: all of them, the one of ais_bench first.
        help: what it does here.
        default: its value when it is not given.
        read: makes its value from text.
        choices: the texts that it takes; none for all.
        effect: whether it does here what it does in ais_bench.
        why: for an option without effect, why; for a refused one, what to do instead.
        required: whether it must be given.
    """

    spellings: tuple[str, ...]
    help: str
    default: Any = None
    read: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()
    effect: str = BenchEffect.DONE
    why: str = ""
    required: bool = False

    @property
    def name(self) -> str:
        """The attribute that has the value."""
        return self.spellings[0].lstrip("-").replace("-", "_")


OPTIONS = (
    BenchOption(("--model", "-m", "--om-model", "-om"), "the offline model", required=True),
    BenchOption(("--input", "-i"), "files joined by commas, or one folder for each input"),
    BenchOption(("--output", "-o"), "folder; results are in a folder in it, named by the time"),
    BenchOption(
        ("--output_dirname", "--output-dirname", "-od"), "name of that folder instead of the time"
    ),
    BenchOption(("--outfmt",), "form of results", "BIN", choices=("NPY", "BIN", "TXT")),
    BenchOption(
        ("--loop", "-l"), "repetitions of each run, which count and are not simulated again", 1,
        _positive,
    ),
    BenchOption(("--debug",), "print what the model takes and returns", default=False, read=_truth),
    BenchOption(
        ("--device", "-d"), "number of the device, or several, which run one after another", [0],
        _devices,
    ),
    BenchOption(("--dymBatch", "--dym-batch", "-db"), "gear of a batch", 0, int),
    BenchOption(("--dymHW", "--dym-hw", "-dhw"), "gear of an image size, h,w"),
    BenchOption(("--dymDims", "--dym-dims", "-dd"), "gear of dims, name:1,600;other:1,3"),
    BenchOption(("--dymShape", "--dym-shape", "-ds"), "shapes of all inputs, as for --dymDims"),
    BenchOption(
        ("--dymShape_range", "--dym-shape-range", "-dr"),
        "shapes to run one after another: n, a~b, a~b~step or a-b-c for a dim, or a file of lines",
    ),
    BenchOption(
        ("--outputSize", "--output-size", "-outsize"), "bytes of the buffers of outputs",
        effect=BenchEffect.ACCEPTED, why="buffers are as large as results need",
    ),
    BenchOption(
        ("--auto_set_dymshape_mode", "--auto-set-dymshape-mode", "-asdsm"),
        "take shapes from the files", default=False, read=_truth,
    ),
    BenchOption(
        ("--auto_set_dymdims_mode", "--auto-set-dymdims-mode", "-asddm"),
        "choose gears of dims by the files", default=False, read=_truth,
    ),
    BenchOption(
        ("--batchsize", "--batch-size"), "batch that throughput counts; the model's by default",
        None, _positive,
    ),
    BenchOption(
        ("--pure_data_type", "--pure-data-type", "-pdt"), "data of runs without --input", "zero",
        choices=("zero", "random"),
    ),
    BenchOption(
        ("--profiler", "-pf"), "profile the run", default=False, read=_truth,
        effect=BenchEffect.ACCEPTED, why="`atc-py profile MODEL.om` has the times of kernels",
    ),
    BenchOption(
        ("--dump",), "write results of layers", default=False, read=_truth,
        effect=BenchEffect.REFUSED, why="`atc-py compare MODEL.onnx` compares layers",
    ),
    BenchOption(
        ("--acl_json_path", "--acl-json-path", "-acl"), "settings of profiles and dumps",
        effect=BenchEffect.ACCEPTED, why="there is no ACL to configure",
    ),
    BenchOption(
        ("--output_batchsize_axis", "--output-batchsize-axis", "-oba"),
        "axis along which results of several files are split", 0, _count,
    ),
    BenchOption(
        ("--run_mode", "--run-mode", "-rm"), "how data reach the device; results are the same",
        "array", choices=("array", "files", "tensor", "full"),
    ),
    BenchOption(
        ("--display_all_summary", "--display-all-summary", "-das"),
        "show times of copies, too", default=False, read=_truth,
    ),
    BenchOption(
        ("--warmup_count", "--warmup-count", "-wcount"),
        "runs before those that count; they are not simulated", 1, _count,
    ),
    BenchOption(
        ("--aipp_config", "--aipp-config", "-aipp"), "settings of dynamic AIPP, an ini file"
    ),
    BenchOption(
        ("--energy_consumption", "--energy-consumption", "-ec"), "measure power", default=False,
        read=_truth, effect=BenchEffect.ACCEPTED, why="the simulated device draws no power",
    ),
    BenchOption(
        ("--npu_id", "--npu-id"), "chip whose power is measured", 0, int,
        effect=BenchEffect.ACCEPTED, why="the simulated device draws no power",
    ),
    BenchOption(
        ("--pipeline",), "copy and compute at once", default=False, read=_truth,
        effect=BenchEffect.ACCEPTED, why="runs follow each other, with the same results",
    ),
    BenchOption(
        ("--threads",), "threads that compute", 1, _positive,
        effect=BenchEffect.ACCEPTED, why="runs follow each other, with the same results",
    ),
    BenchOption(
        ("--profiler_rename", "--profiler-rename"), "names of files of profiles", default=True,
        read=_truth, effect=BenchEffect.ACCEPTED, why="no profile is written",
    ),
    BenchOption(
        ("--perf",), "show times of parts", default=False, read=_truth,
        effect=BenchEffect.ACCEPTED, why="`atc-py profile MODEL.om` has the times of kernels",
    ),
    BenchOption(
        ("--divide_input", "--divide-input"), "split files among devices", default=False,
        read=_truth, effect=BenchEffect.ACCEPTED, why="files are split among several devices anyway",
    ),
    BenchOption(
        ("--dump_npy", "--dump-npy"), "results of layers as .npy", default=False, read=_truth,
        effect=BenchEffect.REFUSED, why="`atc-py compare MODEL.onnx` compares layers",
    ),
    BenchOption(
        ("--backend",), "another runtime", None, effect=BenchEffect.REFUSED,
        why="`atc-py run --device ort` runs exported models in onnxruntime",
    ),
)  # fmt: skip
"""Every option of ais_bench 2023 and the newer ones of `msit benchmark`."""


def parse_arguments(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options, and a line for each that was given and has no effect.

    Raises:
        SystemExit: the status is 2 for what argparse refuses.
        RuntimeError: options contradict each other, or one is not modeled.
    """
    parser = argparse.ArgumentParser(
        prog="python -m atc_py.ais_bench",
        description="Run an offline model of atc-py on the simulated NPU, as ais_bench does on a board.",
    )
    for each in OPTIONS:
        parser.add_argument(
            *each.spellings,
            dest=each.name,
            default=each.default,
            type=each.read,
            choices=each.choices or None,
            required=each.required,
            help=each.help,
        )
    found = parser.parse_args(arguments)
    _check(found)
    notes = []
    for each in OPTIONS:
        if getattr(found, each.name) == each.default or each.effect == BenchEffect.DONE:
            continue
        if each.effect == BenchEffect.REFUSED:
            raise refused(f"{each.spellings[0]} is not modeled: {each.why}")
        notes.append(f"{each.spellings[0]} {_WITHOUT_EFFECT}: {each.why}")
    return found, notes


def _check(found: argparse.Namespace) -> None:
    """Refuse options that contradict each other, with ais_bench's texts."""
    if found.profiler and found.dump:
        raise refused(
            "parameter --profiler cannot be true at the same time as parameter --dump, "
            "please check them!"
        )
    if (found.profiler or found.dump) and found.output is None:
        raise refused("when dump or profiler, miss output path, please check them!")
    if found.output is None and found.output_dirname is not None:
        raise refused(
            "parameter --output_dirname cann't be used alone. Please use it together with the "
            "parameter --output!"
        )
