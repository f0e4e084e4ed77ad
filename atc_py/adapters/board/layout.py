"""What a kit and its results hold: names of files, the records of manifest.json and results.json.

Paths in records are relative to the kit's folder or the archive's root, with `/`. Digests are
SHA-256 in hex. Both documents are the JSON of their record; the script on the board writes the
second one without this module.
"""

from collections.abc import Mapping

import msgspec

from atc_py.system.structs import Result

KIT_VERSION = 1
RESULTS_VERSION = 1

MANIFEST = "manifest.json"
SCRIPT = "run_on_board.py"
MODEL = "model.onnx"
README = {"en": "README.md", "zh": "README.zh.md"}
CONFIG = "config"
"""Folder of atc's configuration files."""
INPUTS = "inputs"
"""Folder with `SAMPLE/INDEX.npy`: what the .om takes, in its order, after preprocessing."""
EXPECTED = "expected"
"""Folder with `original/SAMPLE/INDEX.npy` and, of each variant, `VARIANT/SAMPLE/INDEX.npy` and LAYERS."""
LAYERS = "layers.json"
"""File in `expected/VARIANT/SAMPLE`, an `ExpectedLayers`; arrays beside it are `layers/POSITION.npy`."""
RUN_FOLDER = "results"
"""Folder in the kit that the script works in; the archive holds what it keeps of it."""

RESULTS = "results.json"
ARCHIVE = "results.zip"
FACTS = "host/facts.json"
"""File with the host's facts, a `HostFacts`; texts of commands and version files stand beside it."""
CONSOLE = "console.txt"
"""Output of a step's command, in the step's folder."""
OM_JSON = "om.json"
"""Output of `atc --mode=1`, in the folder `VARIANT/om-json`."""
FUSION_RESULT = "fusion_result.json"
"""File of atc, in the folder `VARIANT/atc`."""
RUN = "run.json"
"""Record of a run of pyACL, a `BoardRun`, in `VARIANT/{plain,dump,msprof}/SAMPLE`; outputs are
`INDEX.npy` beside it, dumps the tree `tree` below it, tables of msprof the tree `tables` below it."""
TREE, TABLES, PLOG = "tree", "tables", "plog"
BENCH = "ais-bench"
"""Step and folder of ais_bench: `VARIANT/ais-bench/SAMPLE` has BENCH_OUTPUTS and BENCH_SUMMARY."""
BENCH_OUTPUTS, BENCH_SUMMARY = "outputs", "outputs_summary.json"
"""Outputs are `STEM_INDEX.npy`, with the name of the first input's file."""

STEPS = ("host", "atc", "om-json", "plain", BENCH, "dump", "msprof")
"""Kinds of steps, in their order; a step is called `host`, `VARIANT/atc`, `VARIANT/plain/SAMPLE` and so on."""
STATES = ("done", "failed", "missing", "skipped")
"""`missing` needs what the host does not have; `skipped` needs a step that is not done."""


class KitFile(Result, frozen=True):
    """A file: its path, size in bytes and digest."""

    path: str
    bytes: int
    sha256: str


class KitTensor(Result, frozen=True):
    """An input or output of the .om, by position; a dim is null where a gear decides it."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


class KitSample(Result, frozen=True):
    """Data of one run.

    Attributes:
        name: its folder.
        inputs: files by position.
        gear: numbers of the gear that runs: batch, height and width, or one for each open dim;
            empty without gears.
        dims: dims of all inputs, as pyACL takes them for gears of any dims; empty otherwise.
        outputs: shapes of the outputs in this run.
        source: where the data come from, such as `random, seed 0` or the path of a file.
    """

    name: str
    inputs: tuple[str, ...]
    gear: tuple[int, ...] = ()
    dims: tuple[int, ...] = ()
    outputs: tuple[tuple[int, ...], ...] = ()
    source: str = ""


class KitVariant(Result, frozen=True):
    """One way to compile the model.

    Attributes:
        name: its folder in results and expectations.
        purpose: what it is for: `precision` or `fusion`.
        atc: arguments of atc, with paths relative to the kit; `--output` is the path of the .om
            without its suffix.
        precision_mode: the mode among them.
        without_fusion: True where the fusion switches are off.
        compiling: keywords of `convert` with which the same is compiled at home; paths are the kit's.
        dump: samples that are run once more with a dump; empty for none.
        executes: executions of the run under msprof; 0 for none.
    """

    name: str
    purpose: str
    atc: tuple[str, ...]
    precision_mode: str
    without_fusion: bool
    compiling: Mapping[str, str | int | bool]
    dump: tuple[str, ...]
    executes: int


class KitSource(Result, frozen=True):
    """The model that the kit was made of.

    Attributes:
        path: as it was given.
        sha256: of the file, without external data.
        rules: rules of `fix` that rewrote it.
        named: number of nodes that got another name, since theirs was empty or used twice.
        opset: of the kit's file.
        original: file that the expectations of the original were computed with: `model` for the
            given file, `kit` where that was the kit's own, `reference` for another one.
        reference: that other one, as it was given.
    """

    path: str
    sha256: str
    rules: tuple[str, ...]
    named: int
    opset: int
    original: str
    reference: str = ""


class Manifest(Result, frozen=True):
    """The kit: what the board is asked to do, and what was expected.

    Attributes:
        version: KIT_VERSION.
        atc_py: version of the program that packed it.
        cann: release of CANN whose semantics the expectations have.
        soc: value of `--soc_version`.
        model: the ONNX file, beside external data.
        source: what it was made of.
        inputs: of the .om.
        outputs: of the .om.
        gears: kind of gears, `batch`, `image` or `dims`; empty without.
        samples: runs.
        variants: ways to compile.
        files: all files of the kit but this document.
        repeats: timed executions of a plain run.
        back: what results hold when all goes well: paths, of which a `*` stands for any name.
    """

    version: int
    atc_py: str
    cann: str
    soc: str
    model: str
    source: KitSource
    inputs: tuple[KitTensor, ...]
    outputs: tuple[KitTensor, ...]
    gears: str
    samples: tuple[KitSample, ...]
    variants: tuple[KitVariant, ...]
    files: tuple[KitFile, ...]
    repeats: int
    back: tuple[str, ...]


class ExpectedLayer(Result, frozen=True):
    """A result of the simulator.

    Attributes:
        node: node of the compiled graph.
        op: its operator there.
        value: the ONNX value that it stands for; empty for a step on the way to one.
        origins: ONNX nodes that it was made of.
        dtype: dtype on the device.
        shape: logical shape.
        sha256: of the values in C order, in that dtype, little-endian.
        least: smallest finite value, null without; largest, mean and rms likewise.
        odd: number of values that are not finite.
        file: the array, where it is in the kit; bfloat16 is float32 there.
    """

    node: str
    op: str
    value: str
    origins: tuple[str, ...]
    dtype: str
    shape: tuple[int, ...]
    sha256: str
    least: float | None = None
    largest: float | None = None
    mean: float | None = None
    rms: float | None = None
    odd: int = 0
    file: str = ""


class ExpectedLayers(Result, frozen=True):
    """The layers of one variant on one sample, in the order in which the simulator computes them."""

    variant: str
    sample: str
    layers: tuple[ExpectedLayer, ...]


class HostFacts(Result, frozen=True):
    """Facts of the host; an empty text is unknown.

    Attributes:
        soc: of `acl.get_soc_name()`, else of npu-smi.
        soc_source: `acl`, `npu-smi` or empty.
        cann: version of the toolkit.
        driver: version of the driver.
        acl: version of the acl interface.
        python: of the script's interpreter.
        numpy: version.
        machine: such as `aarch64`.
        system: such as `Linux-5.10`.
        environment: variables of CANN that are set.
        tools: paths of atc, msprof and npu-smi; empty for one that is not there.
        files: version files that were read, with their text.
    """

    soc: str = ""
    soc_source: str = ""
    cann: str = ""
    driver: str = ""
    acl: str = ""
    python: str = ""
    numpy: str = ""
    machine: str = ""
    system: str = ""
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)
    tools: Mapping[str, str] = msgspec.field(default_factory=dict)
    files: Mapping[str, str] = msgspec.field(default_factory=dict)


class PortFacts(Result, frozen=True):
    """An input or output as pyACL describes it; dtype and format are its numbers."""

    name: str
    dtype: int
    format: int
    size: int
    dims: tuple[int, ...]


class BoardRun(Result, frozen=True):
    """One process that ran an .om.

    Attributes:
        variant: how the .om was made.
        sample: what was fed.
        kind: `plain`, `dump` or `msprof`.
        om: name of the file that was loaded, without suffix: the model's name in dumps.
        om_sha256: its digest.
        soc: of `acl.get_soc_name()`.
        model_id: number that loading gave.
        inputs: ports; `fed` are the digests of the bytes that they got.
        outputs: ports; files are `INDEX.npy`.
        milliseconds: wall time of each execute that was timed.
    """

    variant: str
    sample: str
    kind: str
    om: str
    om_sha256: str
    soc: str
    model_id: int
    inputs: tuple[PortFacts, ...]
    outputs: tuple[PortFacts, ...]
    fed: tuple[str, ...]
    milliseconds: tuple[float, ...]


class BenchFigures(Result, frozen=True):
    """The part of ais_bench's summary that is read: figures of its executes in milliseconds."""

    NPU_compute_time: Mapping[str, float] = msgspec.field(default_factory=dict)


class StepRecord(Result, frozen=True):
    """A step of the script.

    Attributes:
        name: such as `force_fp16/atc`.
        state: one of STATES.
        command: what was run; empty where nothing was.
        status: exit status of it, null where none ended.
        seconds: how long it took.
        message: why it is not done.
    """

    name: str
    state: str
    command: str = ""
    status: int | None = None
    seconds: float = 0.0
    message: str = ""


class BoardResults(Result, frozen=True):
    """The results that came back.

    Attributes:
        version: RESULTS_VERSION.
        manifest_sha256: digest of the kit's manifest.json.
        finished: when the archive was written, such as `2026-01-31T12:00:00Z`.
        steps: in the order in which they ran.
        models: digests of the .om files, by variant.
        files: all files of the archive but this document.
    """

    version: int
    manifest_sha256: str
    finished: str
    steps: tuple[StepRecord, ...]
    models: tuple[KitFile, ...]
    files: tuple[KitFile, ...]
