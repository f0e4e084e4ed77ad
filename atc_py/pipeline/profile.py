"""Profiles: what a model, compiled for one SoC or several, costs there."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from typing import Any

from atc_py.cost.calibration import Calibration, calibrate, load_fit
from atc_py.cost.estimate import Fit
from atc_py.cost.measured_tensors import MeaninglessError
from atc_py.cost.measurements import LEAST, LeftOut, Measurement, read_measurements
from atc_py.cost.network import network_cost
from atc_py.cost.operation import LaunchGroup
from atc_py.cost.reading import launches_of
from atc_py.device.registry import find_backend
from atc_py.diag import BAD_OPTION, AtcError, Diagnostic, ExitCode, Place
from atc_py.options.gears import GearKind
from atc_py.options.input_shapes import parse_gear_shapes, shapes_text
from atc_py.options.named_gear import NamedGear
from atc_py.options.option import optional_path
from atc_py.package.foreign import is_offline
from atc_py.package.reader import OfflineModel
from atc_py.pipeline.opened import opened_model
from atc_py.results.cann_nodes import read_newer, read_semantics
from atc_py.results.compiled_model import CompiledModel, compiled_model
from atc_py.results.profile import GearCost, Profile, SocProfile
from atc_py.system.input_files import guarded_run
from atc_py.target import find_soc
from atc_py.tensor.shapes import Dims
from atc_py.text import Text

_DEFAULT = "sim"
_COLLECTED = frozenset({"compiled", "warnings"})


def fitted_factors(
    factors: Path | None, measured: Sequence[Path], socs: Sequence[str]
) -> tuple[Fit | None, Calibration | None]:
    """The factors in a file, or refitted to CSV files of kernels that were measured on one SoC."""
    if measured:
        done = _calibration(measured, socs)
        return done.fit, done
    if factors is None:
        return None, None
    soc, fit = load_fit(factors)
    others = [name for name in socs or (_DEFAULT,) if find_soc(name).name != soc]
    if others:
        raise BAD_OPTION.error(
            Text(
                "the factors in {path} are of {soc}, found --soc {others}",
                path=factors,
                soc=soc,
                others=others[0],
            ),
            help=Text("profile for --soc {soc}, or leave --factors out", soc=soc),
        )
    return fit, None


def _calibration(paths: Sequence[Path], socs: Sequence[str]) -> Calibration:
    if len(socs) > 1:
        raise BAD_OPTION.error(
            Text("measurements must be for one SoC, found {socs}", socs=", ".join(socs)),
            help=Text("name the SoC that was measured with --soc, once"),
        )
    soc = find_soc(socs[0] if socs else _DEFAULT)
    left_out: Counter[LeftOut] = Counter()
    rows: dict[str, list[Measurement]] = {}
    files = list(dict.fromkeys(paths))
    for path in files:
        least = LEAST - sum(map(len, rows.values())) if path == files[-1] else 0
        compiled = cache(partial(_kernels_of, path.parent, soc.name))
        rows[str(path)] = read_measurements(path, left_out, least, compiled)
    return calibrate(rows, soc, left_out)


def _kernels_of(folder: Path, soc: str, name: str, shapes: str) -> list[LaunchGroup]:
    """The kernels of a model that a table beside it names.

    Raises:
        AtcError: as `opened_model` does.
        MeaninglessError: an offline model has shapes beside it or is for another SoC, or dims of
            the kernels are open.
    """
    path = folder / name
    if shapes and is_offline(path):
        raise MeaninglessError(
            Text("{model} is compiled for its shapes; leave input_shape empty", model=name)
        )
    with opened_model(path, soc=soc, input_shape=shapes) as model:
        description = model.description
    if description.soc != soc:
        raise MeaninglessError(
            Text(
                "{path} is compiled for {soc}, found --soc {wanted}",
                path=name,
                soc=description.soc,
                wanted=soc,
            )
        )
    launches = launches_of(description)
    if any(placed.has_open for placed in launches):
        raise MeaninglessError(
            Text("{model} has dims that are open; give all of them in input_shape", model=name)
        )
    return [placed.launch for placed in launches]


@guarded_run()
def profile_model(  # noqa: PLR0913  (keywords, each of them an option)
    path: str | os.PathLike[str],
    socs: Sequence[str] = (),
    fit: Fit | None = None,
    calibration: Calibration | None = None,
    gear: NamedGear | None = None,
    compiled: list[CompiledModel] | None = None,
    warnings: list[Diagnostic] | None = None,
    like: str | os.PathLike[str] | None = None,
    batches: Sequence[int] = (),
    **options: Any,
) -> Profile:
    """Estimate what a model costs.

    Args:
        path: an ONNX model, which is compiled for each SoC, or an offline model.
        socs: names of SoCs; empty for the generic device, or the offline model's own.
        fit: refitted factors, or None for the built-in ones.
        calibration: where they come from, for the report.
        gear: the gear of an offline model with gears; None for the largest.
        compiled: takes the compiled model of each SoC.
        warnings: takes what was assumed of a model of Huawei's atc, and left out of it.
        like: the ONNX file that such a model was made of.
        batches: sizes of the batch of an ONNX model to compare; empty for the one of its shapes.
        **options: as `atc_py.convert` takes them; of an offline model `submodel`, as `load` does.

    Raises:
        AtcError: the file cannot be read; it does not compile for the one SoC that is asked for;
            an offline model is for another SoC.

    Example:
        >>> import atc_py
        >>> done = atc_py.profile_model("model.onnx", ["Ascend310P3", "Ascend910B1"])
        >>> [cost.soc.name for cost in done.costs]
        ['Ascend310P3', 'Ascend910B1']
        >>> all(0 < cost.time.low < cost.time.expected < cost.time.high for cost in done.costs)
        True
    """
    path, like = Path(path), optional_path(like)
    options |= {"gear": gear, "compiled": compiled, "warnings": warnings, "like": like}
    if batches:
        options |= _batch_options(path, list(dict.fromkeys(batches)), options)
    names = list(dict.fromkeys(find_soc(name).name for name in socs or (_DEFAULT,)))
    if len(names) == 1:
        alone = _model_on_soc(path, names[0], fit, options, named=bool(socs))
        return Profile(path, (alone,), calibration)
    found = tuple(_model_or_refusals(path, name, fit, options, named=bool(socs)) for name in names)
    if all(each.cost is None for each in found):
        raise AtcError(*found[0].refusals)
    return Profile(path, found, calibration)


def _model_on_soc(
    path: Path, name: str, fit: Fit | None, options: dict[str, Any], *, named: bool
) -> SocProfile:
    """The model on one SoC; an offline model must be for it where the user `named` it."""
    compiled: list[CompiledModel] | None = options["compiled"]
    warnings: list[Diagnostic] | None = options["warnings"]
    options = {key: value for key, value in options.items() if key not in _COLLECTED}
    with opened_model(path, soc=name, **options) as model:
        if named and model.description.soc != name:
            raise BAD_OPTION.error(
                Text(
                    "{path} is compiled for {soc}, found --soc {wanted}",
                    path=path,
                    soc=model.description.soc,
                    wanted=name,
                ),
                help=Text("give the ONNX model to profile it for other SoCs"),
            )
        if model.path == path:  # of unknown origin: it is checked as the device does
            with closing(find_backend(_DEFAULT)) as backend:
                backend.open()
                backend.load(model)
        if compiled is not None:
            compiled.append(compiled_model(model))
        cost = network_cost(model.description, fit, model.cores)
        if warnings is not None:
            warnings += model.findings
        semantics = read_semantics(model.report, str(path))
        gears, newer = _gear_costs(model, fit), read_newer(model.report, str(path))
        return SocProfile(cost.soc.name, cost, semantics=semantics, gears=gears, newer=newer)


def _batch_options(
    path: Path, batches: Sequence[int], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Options that compile an ONNX model for each size of its batch, which is axis 0 of its inputs."""
    given = options.get("input_shape", "")
    shapes = dict(parse_gear_shapes(shapes_text(given)) if given else _with_open_batch(path))
    if all(None not in dims for dims in shapes.values()):
        shapes = {name: (None, *dims[1:]) if dims else dims for name, dims in shapes.items()}
    if len(batches) == 1:
        closed = {
            name: tuple(batches[0] if dim is None else dim for dim in dims)
            for name, dims in shapes.items()
        }
        return {"input_shape": closed}
    opened = {
        name: tuple(-1 if dim is None else dim for dim in dims) for name, dims in shapes.items()
    }
    return {"input_shape": shapes_text(opened), "batch_sizes": batches}


def _with_open_batch(path: Path) -> dict[str, Dims]:
    """The shapes of the inputs as the file has them; an open axis 0 is the batch."""
    from atc_py.onnx_graph.reading.read import read_model

    shapes: dict[str, Dims] = {}
    for each in read_model(path).inputs:
        dims = each.dims
        if dims is None or any(isinstance(dim, str) for dim in dims[1:]):
            raise BAD_OPTION.error(
                Text("input {name} has open dims besides the batch", name=repr(each.name)),
                place=Place(field="--batch"),
                help=Text(
                    'give them with --input-shape "name:-1,3,224,224", with -1 for the batch'
                ),
            )
        shapes[each.name] = tuple(None if isinstance(dim, str) else dim for dim in dims)
    return shapes


def _gear_costs(model: OfflineModel, fit: Fit | None) -> tuple[GearCost, ...]:
    if model.gears is None:
        return ()
    is_batch = model.gears.kind is GearKind.BATCH
    return tuple(
        GearCost(
            values,
            dict(model.gears.fed_shapes_of(at)),
            network_cost(model.at_gear(at).description, fit),
            values[0] if is_batch else 0,
        )
        for at, values in enumerate(model.gears.gears)
    )


def _model_or_refusals(
    path: Path, name: str, fit: Fit | None, options: dict[str, Any], *, named: bool
) -> SocProfile:
    """The model on one SoC, whose refusals are part of the answer."""
    try:
        return _model_on_soc(path, name, fit, options, named=named)
    except AtcError as error:
        if error.exit_code is ExitCode.FILE or error.diagnostics[0].code is BAD_OPTION:
            raise
        return SocProfile(name, None, error.diagnostics)
