"""Options of quantizing a float model."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from numpy.typing import NDArray

from atc_py.diag import BAD_OPTION
from atc_py.options.command_options import (
    FORMS,
    ExternalData,
    ListToCompare,
    StrictList,
    WrittenForm,
)
from atc_py.options.compile_options import DEFAULT_LIST
from atc_py.options.input_shapes import parse_shapes
from atc_py.options.option import MOST_JOBS, MOST_RANDOM, Joint, Option
from atc_py.quantizing.calibrate.amct_choices import AmctConfig
from atc_py.quantizing.calibrate.value_range import RangeOptions
from atc_py.quantizing.targets import checked_target, read_target
from atc_py.system.structs import Result
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

CALIBRATORS = ("auto", "min-max", "percentile", "entropy", "ifmr", "hfmg", "mse")
_MIN_MAX, _ARQ = "min-max", "arq"
_MOST_BYTES = 64 << 20


def _read_config(path: str | os.PathLike[str] | None) -> AmctConfig | None:
    from atc_py.quantizing.calibrate.amct_config import read_amct_config
    from atc_py.system.input_files import read_text

    if path is None:
        return None
    file = Path(path)
    return read_amct_config(read_text(file, _MOST_BYTES), str(file))


def _parse_count(name: str, count: int) -> int:
    if count < 0:
        raise BAD_OPTION.error(
            Text("{name} must not be negative, found {lengths}", name=name, lengths=count)
        )
    return count


def _weights(keywords: Mapping[str, Any]) -> str:
    return keywords.get("weights") or (_MIN_MAX if keywords.get("config") is None else _ARQ)


class CalibrationOptions(Result, frozen=True, kw_only=True):
    """Choices of how a float model is quantized."""

    calibrator: Annotated[str, Option(
        "--calibrator",
        "How ranges of the layers' data are chosen; auto tries every calibrator and keeps the one "
        "with the smallest error in the layers' results.", values={name: name for name in CALIBRATORS},
    )] = _MIN_MAX  # fmt: skip
    ranges: RangeOptions = msgspec.field(default_factory=RangeOptions)
    weights: Annotated[str,
        Option(
            "--weights",
            "How the scales of weights are chosen, one for each output channel; by default "
            "min-max, or arq with --config.", values={name: name for name in (_MIN_MAX, _ARQ, "mse")},
            default=None, doc="how scales of weights are chosen: `min-max`, `arq` or `mse`.",
        ),
        Joint(_weights),
    ] = _MIN_MAX  # fmt: skip
    skip: Annotated[tuple[str, ...], Option(
        doc="layers that stay in floats: names, or `OpType::T` for all of one operator.",
    )] = ()  # fmt: skip
    skip_first: Annotated[int, Option(
        "--skip-first",
        "Keep the first N layers of each chain in floats.", metavar="N",
        numbers=(0, None), parse=partial(_parse_count, "skip_first"),
    )] = 0  # fmt: skip
    skip_last: Annotated[int, Option(
        "--skip-last", "Keep the last N layers of each chain in floats.",
        metavar="N", numbers=(0, None), parse=partial(_parse_count, "skip_last"),
    )] = 0  # fmt: skip
    fold_norms: Annotated[bool, Option(
        "--fold-norms/--no-fold-norms",
        "Fold BatchNormalization into the convolution before it; on by default, as are the next "
        "three.",
    )] = True  # fmt: skip
    equalize: Annotated[bool, Option(
        "--equalize/--no-equalize",
        "Balance channels between consecutive layers where that lowers the error.",
    )] = True  # fmt: skip
    smooth: Annotated[bool, Option(
        "--smooth/--no-smooth",
        "Move range from the data of matrix products after a normalization into their weights "
        "where that lowers the error.",
    )] = True  # fmt: skip
    correct_bias: Annotated[bool, Option(
        "--correct-bias/--no-correct-bias",
        "Subtract the mean error of each output channel from the bias.",
    )] = True  # fmt: skip
    config: Annotated[AmctConfig | None, Option(
        "--config",
        "Configuration of Ascend's quantizer, JSON or its simplified text: which layers are "
        "quantized and how. It takes precedence over --calibrator, --percentile and "
        "--symmetric.",
        metavar="FILE", parse=_read_config, reads=True,
        doc="configuration of Ascend's quantizer, JSON or its simplified text: which layers are "
        "quantized, and how; it precedes `calibrator`, `percentile` and `symmetric`.",
        takes="str | os.PathLike[str] | None",
    )] = None  # fmt: skip
    executor: Annotated[str, Option(
        "--executor",
        "Engine that runs the samples: onnxruntime or the simulator; auto: onnxruntime where it "
        "is installed.", values={name: name for name in ("auto", "ort", "sim")},
    )] = "auto"  # fmt: skip
    resume: Annotated[Path | None, Option(
        "--resume",
        "Keep the histograms of the samples in FILE, and continue from those already in it.",
        metavar="FILE",
    )] = None  # fmt: skip


_MEASURED = 16


def _measured(keywords: Mapping[str, Any]) -> int | None:
    """The most samples on which errors are measured; a target takes all by default, one at least."""
    count, target = keywords.get("measure"), keywords.get("target")
    if count is None:
        return None if target else _MEASURED
    if count < bool(target):
        template = "measure must be a count, found {count}"
        if target:
            template = "measure must be a count, 1 or more with a target, found {count}"
        raise BAD_OPTION.error(Text(template, count=count))
    return int(count)


def _parse_jobs(jobs: int | None) -> int | None:
    if jobs is not None and jobs < 1:
        raise BAD_OPTION.error(Text("jobs must be 1 or more, found {jobs}", jobs=jobs))
    return jobs


def _parse_soc(name: str) -> str:
    from atc_py.target import find_soc

    return find_soc(name).name if name else ""


class ProofOptions(Result, frozen=True, kw_only=True):
    """Choices of what is measured of a quantized model, and what its outputs have to reach."""

    target: Annotated[Mapping[str, float], Option(
        "--target",
        "Target for every output: cosine=0.99, snr=20 (dB) or top1=0.99. The layers that cost "
        "the most accuracy stay in floats until it is reached.", metavar="FIGURE=NUMBER", read=read_target,
        parse=checked_target,
        doc="least `cosine`, `snr` (dB) or `top1` of every output, by name: layers that cost the "
        "most stay in floats until they are reached.",
    )] = msgspec.field(default_factory=dict)  # fmt: skip
    samples: Annotated[int | None,
        Option(
            "--measure",
            "Measure errors on at most N of the samples, evenly spaced; 0 measures nothing. By "
            "default 16, or all with --target, which is judged on them.", keyword="measure",
            metavar="N", numbers=(0, None), default=None,
            doc="most samples on which errors are measured; 0 to measure nothing. By default 16, "
            "or with `target` all: they judge it.", takes="int | None",
        ),
        Joint(_measured),
    ] = _MEASURED  # fmt: skip
    jobs: Annotated[int | None, Option(
        "--jobs",
        "Number of processes that try layers for --target; by default one per core where that "
        "is faster. It does not change the result.", metavar="N", numbers=(1, MOST_JOBS),
        parse=_parse_jobs,
        doc="processes that try layers for a target at the same time; by default as many as "
        "cores, where that is quicker. The result is the same.",
    )] = None  # fmt: skip
    soc: Annotated[str, Option(
        "--soc",
        "Estimate the times in float16 and on int8 on this SoC, also at each step toward a "
        "target.",
        old="--time-soc", keyword="time_soc", metavar="SOC", parse=_parse_soc,
        doc="the SoC whose times are estimated, without which none are.",
    )] = ""  # fmt: skip


class QuantizeOptions(Result, frozen=True, kw_only=True):
    """The user's options for quantizing a float model; `data` are files, or arrays by input."""

    data: Annotated[Sequence[str | os.PathLike[str]] | Sequence[Mapping[str, NDArray[Any]]], Option(
        "--data",
        "Samples for MODEL, a float model: a folder with a .npy, .npz, .pb or raw file for each, "
        "or an .npz or .npy file with the samples along the first axis. May be repeated, for each "
        "input.", metavar="[NAME=]PATH", read=tuple,
    )] = ()  # fmt: skip
    aipp: Annotated[Path | None, Option(
        "--aipp",
        "Configuration of AIPP; --data is then a folder of pictures, and layers are calibrated "
        "on the output of AIPP.", metavar="FILE",
        doc="configuration of AIPP, with which `data` is a folder of pictures.",
    )] = None  # fmt: skip
    resize: Annotated[bool, Option(
        "--resize", "Resize pictures whose size differs from the one in --aipp.",
        doc="resize pictures of another size than the configuration has; refuse them by default.",
    )] = False  # fmt: skip
    random: Annotated[int, Option(
        "--random", "Calibrate MODEL, a float model, with N random samples, for a trial.",
        metavar="N", numbers=(0, MOST_RANDOM), doc="number of random samples, in place of `data`.",
    )] = 0  # fmt: skip
    record: Annotated[Path | None, Option(
        "--record",
        "Write scales and offsets to FILE, in the format of Ascend's quantizer; without --data "
        "and --random, read them from FILE instead of calibrating.", metavar="FILE",
        doc="file for scales and offsets in the format of Ascend's quantizer. It is written; "
        "without samples it is read in place of calibrating.",
    )] = None  # fmt: skip
    seed: Annotated[int, Option(
        "--seed", "Seed of the random samples.", numbers=(0, None), shown=True,
        doc="of random samples.",
    )] = 0  # fmt: skip
    input_shapes: Annotated[Mapping[str, Shape], Option(
        keyword="input_shape", parse=parse_shapes,
        doc="dims of inputs that the model leaves open, for random samples and raw files.",
        takes="str | Mapping[str, Sequence[int]]",
    )] = msgspec.field(default_factory=dict)  # fmt: skip
    calibration: CalibrationOptions = msgspec.field(default_factory=CalibrationOptions)
    proof: ProofOptions = msgspec.field(default_factory=ProofOptions)
    form: WrittenForm = FORMS[0]
    external_data: ExternalData = False
    operator_list: ListToCompare = DEFAULT_LIST
    strict_list: StrictList = False
