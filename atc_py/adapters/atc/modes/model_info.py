"""Mode 6 and --display_model_info: what an offline model was made by, and its sizes.

The lines, their order and their words are ATC's [proven]. atc-py has one stream and no events. Of the
five sizes that ATC keeps of a file, a model of this package has the first two.
"""

from pathlib import Path

from atc_py.adapters.atc.modes.om_sizes import figures_of
from atc_py.adapters.atc.modes.opening import opened_om
from atc_py.adapters.atc.modes.real_om import real_om_lines
from atc_py.package.foreign import is_huawei

_FRAMEWORK = "Onnx"
_STREAMS, _EVENTS = 1, 0


def model_info(om: Path) -> list[str]:
    """The lines that describe an offline model; what cannot be read as one is E10041."""
    if is_huawei(om):
        return real_om_lines(om)
    with opened_om(om) as model:
        found = figures_of(model)
    weights, kernels, aicpu, tasks, libraries = found.om_info
    system = f"atc_version[{found.version}], soc_version[{found.soc}]"
    memory = f"memory_size[{found.memory} B], weight_size[{found.weights} B]"
    parts = {
        "modeldef_size": found.description,
        "weight_data_size": weights,
        "tbe_kernels_size": kernels,
        "cust_aicpu_kernel_store_size": aicpu,
        "task_info_size": tasks,
        "so_store_size": libraries,
    }
    sizes = ", ".join(f"{name}[{size} B]" for name, size in parts.items())
    return [
        "============ Display Model Info start ============",
        f"Original Atc command line: {found.command_line}",
        f"system   info: {system}, framework_type[{_FRAMEWORK}].",
        f"resource info: {memory}, stream_num[{_STREAMS}], event_num[{_EVENTS}].",
        f"om       info: {sizes}.",
        "============ Display Model Info end   ============",
    ]
