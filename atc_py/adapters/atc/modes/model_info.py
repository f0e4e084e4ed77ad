"""Mode 6 and --display_model_info: what an offline model was made by, and its sizes.

The lines, their order and their words are ATC's [proven]. atc-py has one stream and no events. Of the
five sizes that ATC keeps of a file, a model of this package has the first two.
"""

from pathlib import Path

from atc_py.adapters.atc.modes.om_sizes import figures_of
from atc_py.adapters.atc.modes.opening import opened_om
from atc_py.adapters.atc.modes.real_om import info_lines, om_line, real_om_lines
from atc_py.package.foreign import is_huawei

_FRAMEWORK = "Onnx"
_STREAMS, _EVENTS = 1, 0


def model_info(om: Path) -> list[str]:
    """The lines that describe an offline model; what cannot be read as one is E10041."""
    if is_huawei(om):
        return real_om_lines(om)
    with opened_om(om) as model:
        found = figures_of(model)
    return info_lines(
        found.command_line,
        (found.version, found.soc, _FRAMEWORK),
        (found.memory, found.weights, _STREAMS, _EVENTS),
        om_line(found.om_info, found.description),
    )
