"""Options of `quantize` as keywords, and their normal form."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from atc_py.diag.codes import BAD_OPTION
from atc_py.options.choices import chosen_list, input_shapes, optional_path
from atc_py.quantizing.calibrate.amct_config import read_amct_config
from atc_py.quantizing.calibrate.settings import QuantizeSettings
from atc_py.quantizing.calibrate.value_range import RangeSettings
from atc_py.quantizing.prove import ProofSettings
from atc_py.quantizing.quantize_float import FloatRequest
from atc_py.quantizing.targets import checked_target
from atc_py.system.input_files import read_text
from atc_py.target import find_soc
from atc_py.text import Text

_MOST_BYTES = 64 << 20


class QuantizeChoice(TypedDict, total=False):
    """Choices of how a float model is quantized, as `atc_py.quantize` takes them.

    Attributes:
        aipp: configuration of AIPP, with which `data` is a folder of pictures.
        resize: resize pictures of another size than the configuration has; refuse them by default.
        random: number of random samples, in place of `data`.
        seed: of random samples.
        input_shape: dims of inputs that the model leaves open, for random samples and raw files.
        record: file for scales and offsets in the format of Ascend's quantizer. It is written; without
            samples it is read in place of calibrating.
        external_data: put weights into a separate file, which is always done for 1.8 GB or more.
        operator_list: the list whose rules what is written is compared with, which fails nothing;
            by default as in `convert`.
        strict_list: let rules that boards contradict count like any other.
        calibrator: name of the calibrator of the layers' data.
        percentile: share of the values, in percent, that the calibrator `percentile` keeps.
        symmetric: data have offset 0.
        weights: how scales of weights are chosen: `min-max`, `arq` or `mse`.
        executor: the engine that runs the samples: `ort`, `sim` or `auto`.
        skip: layers that stay in floats: names, or `OpType::T` for all of one operator.
        skip_first: layers with fewer than so many layers in a row before them stay in floats.
        skip_last: layers with fewer than so many layers in a row after them stay in floats.
        fold_norms: fold BatchNormalization into the convolution before it; True by default, as
            are the next three.
        equalize: balance channels between layers that follow one another.
        smooth: move range from the data of products after a normalization into their weights.
        correct_bias: take the mean error of each output channel off the bias.
        resume: file that keeps histograms between runs.
        config: configuration of Ascend's quantizer, JSON or its simplified text: which layers are
            quantized, and how; it precedes `calibrator`, `percentile` and `symmetric`.
        target: least `cosine`, `snr` (dB) or `top1` of every output, by name: layers that cost the
            most stay in floats until they are reached.
        measure: most samples on which errors are measured; 0 to measure nothing. By default 16, or
            with `target` all: they judge it.
        jobs: processes that try layers for a target at the same time; by default as many as cores,
            where that is quicker. The result is the same.
        time_soc: the SoC whose times are estimated, without which none are.
    """

    aipp: str | os.PathLike[str] | None
    resize: bool
    random: int
    seed: int
    input_shape: str | Mapping[str, Sequence[int]]
    record: str | os.PathLike[str] | None
    external_data: bool
    operator_list: str | None
    strict_list: bool
    calibrator: str
    percentile: float
    symmetric: bool
    weights: str
    executor: str
    skip: Iterable[str]
    skip_first: int
    skip_last: int
    fold_norms: bool
    equalize: bool
    smooth: bool
    correct_bias: bool
    resume: str | os.PathLike[str] | None
    config: str | os.PathLike[str] | None
    target: Mapping[str, float]
    measure: int | None
    jobs: int | None
    time_soc: str


def float_request(data: Sequence[Any], form: str, choice: QuantizeChoice) -> FloatRequest:
    """The request that keywords say.

    Args:
        data: samples, as files or arrays.
        form: one of FORMS, or BOTH.
        choice: the keywords.

    Raises:
        AtcError: BAD_OPTION for a value outside its limits; what reading a configuration raises.
    """
    return FloatRequest(
        data=data,
        aipp=optional_path(choice.get("aipp")),
        resize=choice.get("resize", False),
        random=choice.get("random", 0),
        seed=choice.get("seed", 0),
        input_shapes=input_shapes(choice.get("input_shape", "")),
        form=form,
        record=optional_path(choice.get("record")),
        external=choice.get("external_data", False),
        operator_list=chosen_list(choice.get("operator_list")),
        strict_list=choice.get("strict_list", False),
        settings=quantize_settings(choice),
        proof=proof_settings(choice),
    )


def quantize_settings(choice: QuantizeChoice) -> QuantizeSettings:
    """The settings that keywords say.

    Raises:
        AtcError: BAD_OPTION for a value outside its limits.
    """
    default, ranges = QuantizeSettings(), RangeSettings()
    counts: dict[str, int] = {
        "skip_first": choice.get("skip_first", 0),
        "skip_last": choice.get("skip_last", 0),
    }
    for name, count in counts.items():
        if count < 0:
            raise BAD_OPTION.error(
                Text("{name} must not be negative, found {lengths}", name=name, lengths=count)
            )
    resume, config = choice.get("resume"), choice.get("config")
    return QuantizeSettings(
        calibrator=choice.get("calibrator", default.calibrator),
        ranges=RangeSettings(
            symmetric=choice.get("symmetric", False),
            percentile=choice.get("percentile", ranges.percentile),
        ),
        weights=choice.get("weights", default.weights if config is None else "arq"),
        executor=choice.get("executor", default.executor),
        skip=tuple(choice.get("skip", ())),
        skip_first=choice.get("skip_first", 0),
        skip_last=choice.get("skip_last", 0),
        fold_norms=choice.get("fold_norms", True),
        equalize=choice.get("equalize", True),
        smooth=choice.get("smooth", True),
        correct_bias=choice.get("correct_bias", True),
        resume=None if resume is None else Path(resume),
        config=None
        if config is None
        else read_amct_config(read_text(Path(config), _MOST_BYTES), str(config)),
    )


def proof_settings(choice: QuantizeChoice) -> ProofSettings:
    """The choices of measuring that keywords make.

    Raises:
        AtcError: BAD_OPTION for a target or a count outside its limits, and an unknown SoC.
    """
    count, jobs, soc = choice.get("measure"), choice.get("jobs"), choice.get("time_soc", "")
    target = checked_target(choice.get("target", {}))
    if count is None:
        count = None if target else ProofSettings().samples
    elif count < bool(target):
        template = "measure must be a count, found {count}"
        if target:
            template = "measure must be a count, 1 or more with a target, found {count}"
        raise BAD_OPTION.error(Text(template, count=count))
    if jobs is not None and jobs < 1:
        raise BAD_OPTION.error(Text("jobs must be 1 or more, found {jobs}", jobs=jobs))
    soc = find_soc(soc).name if soc else ""
    return ProofSettings(target=target, samples=count, soc=soc, jobs=jobs)
