"""Options of `quantize` for float models."""

import click

from atc_py.cli.option_sets import option_set
from atc_py.cli.options import INPUT_SHAPE
from atc_py.cli.sample_option import JOBS, MOST_RANDOM

SAMPLES = ("data", "random", "record")
"""Parameters that say that the model is a float model."""

CALIBRATORS = ("auto", "min-max", "percentile", "entropy", "ifmr", "hfmg", "mse")

calibration_options = option_set(
    click.option(
        "--data", multiple=True, metavar="[NAME=]PATH",
        help="Samples for MODEL, a float model: a folder with a .npy, .npz, .pb or raw file for each, or "
        "an .npz or .npy file with the samples along the first axis. May be repeated, for each input.",
    ),
    click.option(
        "--aipp", type=click.Path(), metavar="FILE",
        help="Configuration of AIPP, with which --data is a folder of pictures: layers see what AIPP makes "
        "of them.",
    ),
    click.option(
        "--resize", is_flag=True, help="Resize pictures of another size than --aipp says."
    ),
    click.option(
        "--random", type=click.IntRange(0, MOST_RANDOM), default=0, metavar="N",
        help="Calibrate MODEL, a float model, with N random samples, to try things out.",
    ),
    click.option(
        "--record", type=click.Path(), metavar="FILE",
        help="Write scales and offsets to FILE, in the format of Ascend's quantizer; without --data and "
        "--random, read them from FILE in place of calibrating.",
    ),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True,
        help="Seed of the random samples.",
    ),
    INPUT_SHAPE,
    click.option(
        "--calibrator", type=click.Choice(CALIBRATORS), default="min-max", show_default=True,
        help="How ranges of the layers' data are chosen; auto: of those that others choose, the one "
        "that errs least at the layers' results.",
    ),
    click.option(
        "--percentile", type=float, default=99.999, show_default=True,
        help="Share of the values, in percent, that the calibrator `percentile` keeps.",
    ),
    click.option("--symmetric", is_flag=True, help="Give data the offset 0."),
    click.option(
        "--weights", type=click.Choice(["min-max", "arq", "mse"]), default=None,
        help="How scales of weights are chosen, one for each output channel; min-max by default, with "
        "--config arq.",
    ),
    click.option(
        "--skip-first", type=click.IntRange(min=0), default=0, metavar="N",
        help="Leave layers in floats before which there are fewer than N layers in a row.",
    ),
    click.option(
        "--skip-last", type=click.IntRange(min=0), default=0, metavar="N",
        help="Leave layers in floats after which there are fewer than N layers in a row.",
    ),
    click.option(
        "--fold-norms/--no-fold-norms", default=True,
        help="Fold BatchNormalization into the convolution before it; on by default, as are the next "
        "three.",
    ),
    click.option(
        "--equalize/--no-equalize", default=True,
        help="Balance channels between layers that follow one another, where that gains.",
    ),
    click.option(
        "--smooth/--no-smooth", default=True,
        help="Move range from data of products after a normalization into their weights, where that "
        "gains.",
    ),
    click.option(
        "--correct-bias/--no-correct-bias", default=True,
        help="Take the mean error of each output channel off the bias.",
    ),
    click.option(
        "--config", type=click.Path(), metavar="FILE",
        help="Configuration of Ascend's quantizer, JSON or its simplified text: which layers are quantized "
        "and how. It precedes --calibrator, --percentile and --symmetric.",
    ),
    click.option(
        "--executor", type=click.Choice(["auto", "ort", "sim"]), default="auto", show_default=True,
        help="Engine that runs the samples: onnxruntime or the simulator; auto: onnxruntime where it is "
        "installed.",
    ),
    click.option(
        "--resume", type=click.Path(), metavar="FILE",
        help="Keep the histograms of the samples in FILE, and go on with those that are there.",
    ),
    click.option(
        "--target", multiple=True, metavar="FIGURE=NUMBER",
        help="Least figure of every output: cosine=0.99, snr=20 (dB) or top1=0.99. Layers that cost the "
        "most stay in floats until it is reached.",
    ),
    click.option(
        "--measure", type=click.IntRange(min=0), default=None, metavar="N",
        help="Measure errors on at most N of the samples, at even distances; 0 measures nothing. By default "
        "16, or all with --target, which they judge.",
    ),
    click.option(
        "--jobs", type=JOBS, default=None, metavar="N",
        help="Processes that try layers for --target at the same time; by default as many as cores, where "
        "that is quicker. The result is the same.",
    ),
    click.option(
        "--time-soc", default="", metavar="SOC",
        help="Estimate times in float16 and on int8 on this SoC, also along the way to a target.",
    ),
    click.option(
        "--report", type=click.Path(), metavar="FILE",
        help="Write the whole report, with the histograms, to a file that ends in .html, .json or .txt.",
    ),
)  # fmt: skip
"""Options for float models."""

CALIBRATING = frozenset(
    {
        "aipp",
        "resize",
        "seed",
        "input_shape",
        "calibrator",
        "percentile",
        "symmetric",
        "weights",
        "skip_first",
        "skip_last",
        "executor",
        "resume",
        "config",
        "fold_norms",
        "equalize",
        "smooth",
        "correct_bias",
        "target",
        "measure",
        "jobs",
        "time_soc",
        "report",
    }
)
"""Parameters that concern the calibration alone."""
