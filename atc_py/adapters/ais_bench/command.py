"""The command line: files in, runs, files and a summary out."""

import argparse
import copy
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from atc_py.adapters.ais_bench.arguments import parse_arguments
from atc_py.adapters.ais_bench.batches import PADDING, PURE, Batch, batches_of, data_of
from atc_py.adapters.ais_bench.interface import InferSession, MemorySummary
from atc_py.adapters.ais_bench.log_lines import (
    as_runtime_errors,
    debug_line,
    info_line,
    note_line,
    refused,
)
from atc_py.adapters.ais_bench.saving import ResultFiles
from atc_py.adapters.ais_bench.shape_ranges import shapes_in_range
from atc_py.adapters.ais_bench.summary import BenchSummary
from atc_py.adapters.ais_bench.tensors import TensorDesc
from atc_py.system.atomic_files import make_folder
from atc_py.system.input_files import guarded_run

_BARS = {
    "array": "Inference array Processing",
    "files": "Inference files Processing",
    "tensor": "Inference tensor Processing",
    "full": "Inference Processing full",
}
_STAMP = "%Y_%m_%d-%H_%M_%S"


@guarded_run()
def main(arguments: Sequence[str]) -> int:
    """Run the command; return the exit status."""
    try:
        options, notes = parse_arguments(arguments)
        for line in notes:
            note_line(line)
        options.arguments = [sys.argv[0], *arguments]
        if options.dymShape_range is not None and options.dymShape is None:
            return _run_range(options)
        if len(options.device) > 1:
            return _run_devices(options)
        options.device = options.device[0]
        _run(options)
    except RuntimeError as error:
        sys.stderr.write(f"RuntimeError: {error}\n")
        return 1
    except MemoryError:
        refused("the machine has not enough memory for the data and the model")
        return 1
    return 0


def _run(options: argparse.Namespace) -> float:
    session = _session(options)
    try:
        return _run_session(session, options)
    finally:
        session.finalize()


def _session(options: argparse.Namespace) -> InferSession:
    session = InferSession(
        options.device, options.model, options.acl_json_path, options.debug, options.loop
    )
    try:
        _choose_shapes(session, options)
    except RuntimeError:
        session.finalize()
        raise
    if options.debug:
        debug_line(f"session info:{session.session!r}")
    return session


def _choose_shapes(session: InferSession, options: argparse.Namespace) -> None:
    """Choose the gear or the shapes, in ais_bench's order of options."""
    if options.dymBatch:
        session.set_dynamic_batchsize(options.dymBatch)
    elif options.dymHW is not None:
        session.set_dynamic_hw(*_image_size(options.dymHW))
    elif options.dymDims is not None:
        session.set_dynamic_dims(options.dymDims)
    elif options.dymShape is not None:
        session.set_dynamic_shape(options.dymShape)
    else:
        session.set_staticbatch()
    if options.batchsize is None:
        options.batchsize = _batch(session.get_inputs(), options)
        info_line(f"try get model batchsize:{options.batchsize}")
        by_files = options.auto_set_dymshape_mode or options.auto_set_dymdims_mode
        chosen = options.dymBatch or options.dymHW or options.dymDims or options.dymShape
        if options.batchsize < 0 and not by_files and not chosen:
            raise refused(
                "dynamic batch om model detected, but dymbatch, dymdims or dymshape not set!"
            )
        options.batchsize = max(1, options.batchsize)
    _set_aipp(session, options)
    if options.outputSize is not None:
        session.set_custom_outsize([_number(part) for part in options.outputSize.split(",")])


def _set_aipp(session: InferSession, options: argparse.Namespace) -> None:
    count = session.get_dym_aipp_input_exist()
    if count > 1:
        raise refused(
            f"don't support more than one dynamic aipp input in model, amount of aipp input is {count}"
        )
    if count == 1:
        if options.aipp_config is None:
            raise refused(
                "can't find aipp config file for model with dym aipp input , please check it!"
            )
        session.load_aipp_config_file(options.aipp_config, options.batchsize)
    elif options.aipp_config is not None:
        note_line("--aipp_config has no effect: the model has no dynamic AIPP")


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise refused(f"{text!r} is not a number") from None


def _image_size(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2:  # noqa: PLR2004  (height and width)
        raise refused(f"the dymHW parameter is not h,w: {text}")
    return _number(parts[0]), _number(parts[1])


def _batch(inputs: Sequence[TensorDesc], options: argparse.Namespace) -> int:
    """The batch that throughput counts: the first dim of the first input."""
    if options.dymBatch:
        return int(options.dymBatch)
    text = options.dymDims or options.dymShape or ""
    for part in text.split(";"):
        name, _, dims = part.rpartition(":")
        if name and inputs and name == inputs[0].name:
            return _number(dims.split(",")[0])
    return inputs[0].shape[0] if inputs and inputs[0].shape else 1


def _run_session(session: InferSession, options: argparse.Namespace) -> float:
    inputs = session.get_inputs()
    summary = BenchSummary()
    folder = _output_folder(options)
    files = None
    if folder is not None:
        info_line(f"output path:{folder}")
        files = ResultFiles(folder, options.outfmt, options.output_batchsize_axis, summary)
    combine = not (options.auto_set_dymshape_mode or options.auto_set_dymdims_mode)
    given = options.input.split(",") if options.input else []
    batches = batches_of(given, inputs, combine=combine)
    _check_run_mode(options, batches)
    runner = _Runner(session, options, inputs, summary, combine=combine)
    session.session.check(runner.feeds(batches[0]))
    session.reset_sumaryinfo()
    summary.batches.clear()
    MemorySummary.reset()
    info_line(f"warm up {options.warmup_count} done")
    started = time.perf_counter()
    for run, batch in enumerate(batches):
        outputs = session.run(runner.feeds(batch))
        if files is not None:
            files.save(outputs, batch, run)
    _print_bar(_BARS[options.run_mode], len(batches), time.perf_counter() - started)
    return _report(session, options, summary, folder)


class _Runner:
    """Reads the data of runs and sets the shapes that they have."""

    def __init__(
        self,
        session: InferSession,
        options: argparse.Namespace,
        inputs: Sequence[TensorDesc],
        summary: BenchSummary,
        *,
        combine: bool,
    ) -> None:
        self._session = session
        self._options = options
        self._inputs = inputs
        self._summary = summary
        self._combine = combine

    def feeds(self, batch: Batch) -> list[Any]:
        kind = self._options.pure_data_type
        arrays = [
            data_of(files, row.realsize, kind, combine=self._combine)
            for files, row in zip(batch, self._inputs, strict=True)
        ]
        if not self._combine:
            text = ";".join(
                f"{row.name}:{','.join(map(str, array.shape))}"
                for row, array in zip(self._inputs, arrays, strict=True)
            )
            if self._options.auto_set_dymshape_mode:
                self._session.set_dynamic_shape(text)
            else:
                self._session.set_dynamic_dims(text)
            self._summary.batches.append(arrays[0].shape[0] if arrays and arrays[0].ndim else 1)
        return arrays


def _check_run_mode(options: argparse.Namespace, batches: Sequence[Batch]) -> None:
    """Refuse what mode `files` of ais_bench refuses: it reads plain bytes of files alone."""
    if options.run_mode != "files":
        return
    for files in (files for batch in batches for files in batch):
        for file in files:
            if file == PURE:
                raise refused("not support pure infer")
            if file != PADDING and file.endswith((".npy", ".NPY")):
                raise refused(f"not support npy file:{file}")


def _output_folder(options: argparse.Namespace) -> Path | None:
    if options.output is None:
        return None
    name = options.output_dirname or time.strftime(_STAMP)
    folder = Path(options.output) / name
    with as_runtime_errors():
        make_folder(folder)
    return folder


def _print_bar(label: str, runs: int, seconds: float) -> None:
    minutes, rest = divmod(int(seconds), 60)
    rate = runs / seconds if seconds else 0.0
    bar = "#" * 10
    sys.stdout.write(
        f"{label}: 100%|{bar}| {runs}/{runs} [{minutes:02d}:{rest:02d}<00:00, {rate:.2f}it/s]\n"
    )
    sys.stdout.flush()


def _report(
    session: InferSession, options: argparse.Namespace, summary: BenchSummary, folder: Path | None
) -> float:
    """Print the summary and write it beside the folder of results; return the throughput."""
    summary.compute = list(session.sumary().exec_time_list)
    summary.to_device = MemorySummary.get_h2d_time_list()
    summary.to_host = MemorySummary.get_d2h_time_list()
    soc = session.session.model.description.soc
    note_line(f"NPU_compute_time is estimated for {soc} (docs/cost-model.md), not measured")
    summary.print_lines(options.batchsize, everything=options.display_all_summary)
    if folder is not None:
        path = folder.with_name(f"{folder.name}_summary.json")
        summary.write(path, options.batchsize, options.arguments)
    return summary.throughput(options.batchsize)


def _run_devices(options: argparse.Namespace) -> int:
    """Run on several devices one after another, each on its share of the files."""
    info_line(f"multidevice:{options.device} run begin")
    stamp = options.output_dirname or time.strftime(_STAMP)
    shares = _shares(options)
    rows = []
    for at, device in enumerate(options.device):
        own = copy.copy(options)
        own.device, own.input = device, shares[at]
        if own.output is not None:
            own.output_dirname = f"{stamp}/device{device}"
        started = time.time()
        rows.append((at, device, _run(own), started, time.time()))
    info_line(f"multidevice run end qsize:{2 * len(rows)} result:0")
    for at, device, throughput, started, ended in rows:
        sys.stdout.write(
            f"i:{at} device_{device} throughput:{throughput} start_time:{started} end_time:{ended}\n"
        )
    info_line(f"summary throughput:{sum(row[2] for row in rows)}")
    return 0


def _shares(options: argparse.Namespace) -> list[str | None]:
    count = len(options.device)
    if options.input is None:
        return [None] * count
    own = copy.copy(options)
    own.device = options.device[0]
    session = _session(own)
    inputs = session.get_inputs()
    session.free_resource()
    batches = batches_of(options.input.split(","), inputs, combine=True)
    files = [
        [file for batch in batches for file in batch[at] if file != PADDING]
        for at in range(len(inputs))
    ]
    size = -(-len(files[0]) // count)
    shares: list[str | None] = []
    for at in range(count):
        part = [file for each in files for file in each[at * size : (at + 1) * size]]
        if not part:
            raise refused(f"there are fewer files than devices: {len(files[0])} for {count}")
        shares.append(",".join(part))
    return shares


def _run_range(options: argparse.Namespace) -> int:
    """Run every shape of a range; one that fails does not end the others."""
    rows: list[tuple[str, str, float]] = []
    options.device = options.device[0]
    for shape in shapes_in_range(options.dymShape_range):
        own = copy.copy(options)
        own.dymShape = shape
        try:
            rows.append((shape, "OK", _run(own)))
        except RuntimeError:
            rows.append((shape, "Failed", 0.0))
        info_line(f"dymshape:{shape} end run result:{rows[-1][1]}")
    good = [row[2] for row in rows if row[1] == "OK"]
    mean = sum(good) / len(good) if good else 0.0
    info_line("-----------------dyshape_range Performance Summary------------------")
    info_line(f"run_count:{len(rows)} success_count:{len(good)} avg_throughput:{mean}")
    rows.sort(key=lambda row: row[2], reverse=True)
    for at, (shape, result, throughput) in enumerate(rows):
        info_line(f"{at} dymshape:{shape}  result:{result} throughput:{throughput}")
    info_line("------------------------------------------------------")
    return 0
