"""Options of all sessions of a program, held to sense before it starts."""

from collections.abc import Mapping
from typing import Any

from atc_py.diag import UNKNOWN_DEVICE
from atc_py.options.compile_options import DEFAULT_LIST, CompileOptions
from atc_py.options.option import parse_options
from atc_py.system.memory_limit import parse_size
from atc_py.text import Text

_BUILT_IN = "sim"


def require_sense(keywords: Mapping[str, Any], *, device: str, max_memory: str | None) -> None:
    """Refuse options that every session would refuse.

    Raises:
        AtcError: UNKNOWN_SOC, NO_BFLOAT16, BAD_OPTION, OPTIONS_EXCLUDE, UNKNOWN_PASS, BAD_SPEC,
            BAD_CONTROL_FILE, UNKNOWN_DEVICE, and errors of files.
    """
    from atc_py.target import find_soc

    options = parse_options("exec", CompileOptions, keywords)
    mode, precision = options.precision_mode, options.precision
    soc = find_soc(options.soc)
    _require_device(device)
    if max_memory is not None:
        parse_size(max_memory)
    # What is left out is sensible, and what it is compared with takes long to import.
    if mode.is_bfloat16:
        from atc_py.passes.precision.controls import check_soc

        check_soc(mode, soc)
    if options.op_specs is not None or precision.operator_list != DEFAULT_LIST:
        from atc_py.spec import specifications

        specifications(options.op_specs, precision.operator_list)
    if options.disable_pass:
        from atc_py.passes.pipeline import find_passes

        find_passes(keywords["disable_pass"])
    if options.fix is not None:
        from atc_py.fix.rule import check_rules

        check_rules(options.fix.only | options.fix.skip)
    if precision.given():
        from atc_py.passes.precision.control_files import find_controls
        from atc_py.passes.precision.controls import ModelNames

        find_controls(precision, mode, ModelNames({}, frozenset(), (), ()))


def _require_device(name: str) -> None:
    if name == _BUILT_IN:
        return
    from atc_py.device.registry import device_names

    known = device_names()
    if name not in known:
        raise UNKNOWN_DEVICE.error(
            Text("no device is called {name}", name=repr(name)),
            help=Text("installed are {known}", known=", ".join(known)),
        )
