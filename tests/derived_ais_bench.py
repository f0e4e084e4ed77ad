"""The page of ais_bench, its table derived from the options of the command line."""

from collections.abc import Iterator

from atc_py.adapters.ais_bench.arguments import OPTIONS, BenchEffect, BenchOption

_HEAD = """# ais_bench

`atc_py.ais_bench` has the interface of ais_bench, with offline models of atc-py on the simulated NPU. A published script needs
another import and nothing else:

```python
from atc_py.ais_bench.infer.interface import InferSession  # instead of: ais_bench.infer.interface
```

```sh
python -m atc_py.ais_bench --model first.om --input images --output results --outfmt NPY  # instead of: python -m ais_bench ...
```

The source of this page is ais_bench as of June 2023, read in its source [proven]; what later versions add was read in the API guide and
sources of `msit benchmark` [proven], and where they disagree, both forms are taken [disputed].

## Times

Every time called `NPU_compute_time`, `exec_time_list` and throughput is the estimate of `atc-py profile` for the SoC that the model was
converted for ([cost-model.md](cost-model.md)), not a measurement: the time that the simulation takes says nothing about a board. One
line on standard error says so. `--loop` counts each run as often as it says and simulates it once: the same data give the same
results. A session counts 1,000,000 runs at most. Warm-up runs are checked and not simulated. H2D and D2H latencies are those of copies on this machine.

## InferSession

| member | here |
| --- | --- |
| `InferSession(device_id, model_path, acl_json_path=None, debug=False, loop=1)` | every device is this machine; the file of settings has no effect |
| `get_inputs()`, `get_outputs()` | descriptions with `name`, `datatype` (prints `dtype.float32`), `format`, `shape`, `size`, `realsize`; dims that gears decide are -1; `ascend_mbatch_shape_data` and the settings of dynamic AIPP are not listed; outputs are called `node:index:tensor` |
| `infer(feeds, mode="static", custom_sizes=100000, out_array=True)` | modes static, dymbatch, dymhw, dymdims, dymshape, also spelled dyn...; arrays, numpy scalars, tensors of `aclruntime` and torch; any other type and any other mode is a RuntimeError |
| `run(feeds, out_array=False)` | only the number of bytes of each feed counts; arrays that are not contiguous are read in order |
| `set_staticbatch`, `set_dynamic_batchsize(n)`, `set_dynamic_hw(h, w)`, `set_dynamic_dims(text)` | a gear that the model does not have is a RuntimeError that names all |
| `set_dynamic_shape(text)`, `set_custom_outsize(sizes)` | takes the shapes that the model was converted for, of dims with a range or -1 any in the range; buffers are as large as results need |
| `infer_pipeline(list)`, `infer_iteration(feeds, in_out_list, n)` | the runs one after another |
| `create_tensor_from_arrays_to_device`, `create_tensor_from_fileslist`, `convert_tensors_to_host`, `convert_tensors_to_arrays` | as in ais_bench |
| `sumary()`, `summary()`, `reset_sumaryinfo()`, `reset_summaryinfo()`, `set_loop_count(n)` | `sumary().exec_time_list` has milliseconds, as in 2023; `summary().exec_time_list` pairs of start and end, as later |
| `load_aipp_config_file(file, batch)`, `get_dym_aipp_input_exist()`, `check_dym_aipp_input_exist()` | settings of dynamic AIPP from the section `[aipp_op]` of a file; a word that AIPP does not have is refused |
| `free_resource()`, `finalize()` | unload the model; unload all models of the process |

`MultiDeviceSession` runs its devices one after another. `MemorySummary` has the times of copies. `atc_py.ais_bench.aclruntime` has
`InferenceSession`, `session_options`, `Tensor` and `dtype` for scripts that use that module. Every refusal is a RuntimeError, after
lines `[ERROR] ...` on standard output; our own code (`ATC2001`) stands in its text.

## Command line

The log has ais_bench's lines in its order; `grep throughput | awk '{print $NF}'` finds the throughput. Files of a folder are taken in
natural order. Files that together make a batch are joined, the last batch is filled with the first file of it, and results of
filled places are not saved. Results are called like the first input's file up to its first dot, `_`, the position of the output,
and `.npy`, `.bin` or `.txt`; without `--input`, `pure_infer_data_0.bin`. `FOLDER_summary.json` beside the folder has the files, times and the
throughput. Two files with one name up to the first dot overwrite each other's results, as in ais_bench; a line on standard error
says so.

Exit status: 0 done, 1 refused or failed, 2 the command was called wrongly, 128 and its number
after a signal.

| option | also | here |
| --- | --- | --- |"""

_TAIL = """
Booleans are yes, true, t, y, 1 and no, false, f, n, 0 in any case. Of `--dymBatch`, `--dymHW`, `--dymDims` and `--dymShape` the first counts."""


def ais_bench_page() -> Iterator[str]:
    """Yield the page."""
    yield from _HEAD.splitlines()
    for option in OPTIONS:
        others = " ".join(f"`{name}`" for name in option.spellings[1:])
        yield f"| `{option.spellings[0]}` | {others} | {_effect(option)} |"
    yield from _TAIL.splitlines()


def _effect(option: BenchOption) -> str:
    """Return what an option does."""
    if option.effect == BenchEffect.DONE:
        choices = f": {', '.join(option.choices)}" if option.choices else ""
        default = option.default
        shown = (
            default if isinstance(default, str | int) and default and default is not True else ""
        )
        return f"{option.help}{choices}{f'; {shown} by default' if shown else ''}"
    word = "accepted, without effect" if option.effect == BenchEffect.ACCEPTED else "refused"
    return f"{word}: {option.why}"
