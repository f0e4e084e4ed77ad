"""Options as keywords of the Python interface, for type checkers.

Derived from the structs of options; `make docs` writes it again.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict


class PrecisionKeywords(TypedDict, total=False):
    """ATC's finer controls of precision, how models are read, which passes run.

    Attributes:
        precision_mode_v2: the mode by ATC's second names, in place of `precision_mode`.
        keep_dtype: file of nodes that keep the model's dtypes, in ATC's format like the next two.
        customize_dtypes: file of dtypes by node or operator.
        modify_mixlist: file that moves operators between the lists of the mixed modes.
        input_fp16_nodes: inputs that are fed as float16, joined by `;`.
        output_type: `FP32` or another for all outputs, or `node:index:TYPE` joined by `;`.
        op_precision_mode: file of implementation modes by operator and node.
        implementations: the same for operators alone, as text, `Operator=mode` joined by `;`; the
            file counts more.
        allow_hf32: True or False for all float32 products of the cube; None, the default, for HF32
            in convolutions alone. It matters on SoCs whose cube has HF32.
        is_weight_clip: clamp weights to finite values when they are narrowed.
        only_atc_passes: leave out rewrites that no known pass of ATC performs, such as fusing a
            softmax.
        quant_bias: `unfolded` or `folded`, the convention of the biases of a model in the deploy
            form; `auto`, the default, goes by the file's metadata.
        operator_list: the list of operators that a model must keep to, such as `cann-9.0`; by
            default that of the environment's ATC_PY_LIST, else `any`: any list may take a node.
        strict_list: let rules that boards contradict refuse nodes like any other.
        cann: release of CANN whose deviations from ONNX count: 5 to 8, 8.5, or 9.0 to 9.2; 9 is the
            newest of them that is not a beta.
        semantics: `onnx`, the default, or `cann`: nodes compute what CANN's parser makes of them.
    """

    precision_mode_v2: str | None
    keep_dtype: str | os.PathLike[str] | None
    customize_dtypes: str | os.PathLike[str] | None
    modify_mixlist: str | os.PathLike[str] | None
    input_fp16_nodes: str
    output_type: str
    op_precision_mode: str | os.PathLike[str] | None
    implementations: str
    allow_hf32: bool | None
    is_weight_clip: bool
    only_atc_passes: bool
    quant_bias: str
    operator_list: str | None
    strict_list: bool
    cann: str | int
    semantics: str


class CheckKeywords(PrecisionKeywords, total=False):
    """Options of `check_models`.

    Attributes:
        precision_mode: any of ATC's modes; `force_fp16` by default.
    """

    precision_mode: str | None


class RuleKeywords(TypedDict, total=False):
    """The rules that fix a model, and what they may assume: `fix` of `convert`.

    Attributes:
        only: names of the rules that may apply; empty, the default, for all.
        skip: names of rules that do not apply.
        approximate: also apply rules whose error has no bound.
        bind: values of inputs that become constants, by name; every element gets the value.
        ranges: bounds of integer inputs, both included, by name; `*` is every other input.
        for_precision: replace listed nodes that overflow or lose accuracy in float16, too; None,
            the default, for that in precision mode force_fp16 alone.
        for_cann: replace nodes, too, that the release `cann` of CANN computes otherwise than ONNX,
            or that its parser refuses; False by default.
        all_findings: also remove findings of level rewrite.
    """

    only: Iterable[str]
    skip: Iterable[str]
    approximate: bool
    bind: Mapping[str, float]
    ranges: Mapping[str, tuple[int, int]]
    for_precision: bool | None
    for_cann: bool
    all_findings: bool


class FixKeywords(CheckKeywords, RuleKeywords, total=False):
    """Options of `fix_model`.

    Attributes:
        dry_run: write nothing.
        seeds: number of random inputs on which both models run; 3 by default, 0 for no proof.
        data: files with data of inputs, as `name=file` or a lone file, and folders of files that
            are called like inputs; other inputs get random data.
        simulate: also run the fixed model on the simulator, in the target's precision; by default.
        external_data: put weights into a separate file, which is always done for 1.8 GB or more.
        keep_qdq: write int8 layers of others in QDQ, which onnxruntime opens, or, if False, in
            Ascend's form; None, the default, for QDQ where that leaves no more findings.
    """

    dry_run: bool
    seeds: int
    data: Iterable[str]
    simulate: bool
    external_data: bool
    keep_qdq: bool | None


class CompiledKeywords(PrecisionKeywords, total=False):
    """Options that comparisons hand to the compilation.

    Attributes:
        fix: compile the model in the form that `fix_model` would write; None, the default, as it
            is. The mapping has the rules, see `RuleKeywords`; an empty one stands for their
            defaults.
        input_format: `NCHW`, the default, `NHWC`, `NCDHW` or `ND`: what the axes of inputs are. It
            labels them for AIPP and for gears of image sizes; data are never moved.
        aipp: file of AIPP configurations in ATC's format: inputs that they are for take pictures,
            which the device turns into what the network takes.
        out_nodes: the results that become the outputs, in order: names of tensors, or `node:index`,
            joined by `;`. Empty, the default, for the model's own outputs.
        disable_pass: names of optional passes that do not run.
        fusion_switch_file: ATC's file that switches passes on and off, as lines or as JSON.
        disable_reuse_memory: give every value an address of its own.
        enable_small_channel: store filters of at most four channels with four for each tap.
        verify: check the graph after every pass.
        refuse_as_parser: models that break a rule of CANN's parser about whole models are refused,
            as they are with ATC; by default these rules are warnings of the check.
    """

    fix: RuleKeywords | None
    input_format: str
    aipp: str | os.PathLike[str] | None
    out_nodes: str
    disable_pass: Iterable[str]
    fusion_switch_file: str | os.PathLike[str] | None
    disable_reuse_memory: bool
    enable_small_channel: bool
    verify: bool
    refuse_as_parser: bool


class ConvertKeywords(CompiledKeywords, total=False):
    """Options of `convert`.

    Attributes:
        precision_mode: any of ATC's modes; `force_fp16` by default.
        batch_sizes: gears of batch sizes, such as `"1,2,4"` or `[1, 2, 4]`: numbers that take the
            place of -1 on axis 0 of inputs.
        image_sizes: gears of image sizes, such as `"320,320;640,640"` or `[(320, 320), (640,
            640)]`: heights and widths that take the places of -1.
        dims: gears of any dims, such as `"1,16;2,32"`: numbers that take the places of -1 in the
            order of `input_shape`. Of the three one may be given.
        auto_gears: gears for open dims by name: `"1~512"` for the powers of two in a range, or
            `"batch=1,4;past=1~64;total=past+1"`. Data of sizes between them are padded where that
            is harmless.
        dump_ir: folder for the text of the graph after each stage.
        replace_shapes: the dims of `input_shape` count also where the model fixes others, as they
            do with ATC; by default they are refused.
        atc_cmdline: command line of `atc` that the offline model records, as mode 6 shows it.
        graph_name: name of the graph in the offline model; by default the one in the ONNX file.
    """

    precision_mode: str | None
    batch_sizes: str | Iterable[int]
    image_sizes: str | Iterable[Iterable[int]]
    dims: str | Iterable[Iterable[int]]
    auto_gears: str
    dump_ir: str | os.PathLike[str] | None
    replace_shapes: bool
    atc_cmdline: str
    graph_name: str


class SessionKeywords(ConvertKeywords, total=False):
    """Options of `InferenceSession`, with keywords of onnxruntime that mean nothing here."""

    enable_fallback: object
    read_config_from_model: object
    disabled_optimizers: object


class CompareKeywords(CompiledKeywords, total=False):
    """Options of `compare_model`.

    Attributes:
        precision_mode: any of ATC's modes; `force_fp16` by default.
        suggest_samples: most samples that judge a trial of the search for nodes to keep, at even
            distances; None, the default, for all.
        jobs: processes that make its trials; 1, the default, makes them here. The result is the
            same.
    """

    precision_mode: str | None
    suggest_samples: int | None
    jobs: int


class PlanKeywords(CompiledKeywords, total=False):
    """Options of `plan_model`.

    Attributes:
        judge: most samples that judge each trial, at even distances; None, the default, for all.
            The plan is verified on all.
        jobs: processes that make trials; 1, the default, makes them here. The plan is the same.
        bfloat16: allow bfloat16 where the SoC has it; by default.
    """

    judge: int | None
    jobs: int
    bfloat16: bool


class QuantizeKeywords(TypedDict, total=False):
    """Options of `quantize`.

    Attributes:
        aipp: configuration of AIPP, with which `data` is a folder of pictures.
        resize: resize pictures of another size than the configuration has; refuse them by default.
        random: number of random samples, in place of `data`.
        record: file for scales and offsets in the format of Ascend's quantizer. It is written;
            without samples it is read in place of calibrating.
        seed: of random samples.
        input_shape: dims of inputs that the model leaves open, for random samples and raw files.
        calibrator: how ranges of the layers' data are chosen; auto tries every calibrator and keeps
            the one with the smallest error in the layers' results.
        percentile: share of the values, in percent, that the calibrator `percentile` keeps.
        symmetric: data have offset 0.
        weights: how scales of weights are chosen: `min-max`, `arq` or `mse`.
        skip: layers that stay in floats: names, or `OpType::T` for all of one operator.
        skip_first: keep the first N layers of each chain in floats.
        skip_last: keep the last N layers of each chain in floats.
        fold_norms: fold BatchNormalization into the convolution before it; on by default, as are
            the next three.
        equalize: balance channels between consecutive layers where that lowers the error.
        smooth: move range from the data of matrix products after a normalization into their weights
            where that lowers the error.
        correct_bias: subtract the mean error of each output channel from the bias.
        config: configuration of Ascend's quantizer, JSON or its simplified text: which layers are
            quantized, and how; it precedes `calibrator`, `percentile` and `symmetric`.
        executor: engine that runs the samples: onnxruntime or the simulator; auto: onnxruntime
            where it is installed.
        resume: keep the histograms of the samples in FILE, and continue from those already in it.
        target: least `cosine`, `snr` (dB) or `top1` of every output, by name: layers that cost the
            most stay in floats until they are reached.
        measure: most samples on which errors are measured; 0 to measure nothing. By default 16, or
            with `target` all: they judge it.
        jobs: processes that try layers for a target at the same time; by default as many as cores,
            where that is quicker. The result is the same.
        time_soc: the SoC whose times are estimated, without which none are.
        external_data: put weights into a separate file, which is always done for 1.8 GB or more.
        operator_list: the list whose rules what is written is compared with, which fails nothing;
            by default as in `convert`.
        strict_list: let rules that boards contradict count like any other.
    """

    aipp: str | os.PathLike[str] | None
    resize: bool
    random: int
    record: str | os.PathLike[str] | None
    seed: int
    input_shape: str | Mapping[str, Sequence[int]]
    calibrator: str
    percentile: float
    symmetric: bool
    weights: str
    skip: Iterable[str]
    skip_first: int
    skip_last: int
    fold_norms: bool
    equalize: bool
    smooth: bool
    correct_bias: bool
    config: str | os.PathLike[str] | None
    executor: str
    resume: str | os.PathLike[str] | None
    target: Mapping[str, float]
    measure: int | None
    jobs: int | None
    time_soc: str
    external_data: bool
    operator_list: str | None
    strict_list: bool
