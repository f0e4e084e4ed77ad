"""The grid of a sweep: models by name, and all combinations with what they run on."""

from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

from atc_py.diag import BAD_OPTION, DUPLICATE_MODEL, Place
from atc_py.options.compile_options import PrecisionMode, PrecisionOptions
from atc_py.options.model_paths import model_paths
from atc_py.options.option import parse_options
from atc_py.results.sweep import Combination
from atc_py.spec import specifications
from atc_py.system.cache_folders import is_folder, legible, same_path
from atc_py.target import find_soc
from atc_py.text import Text


def named_models(given: Iterable[str]) -> dict[str, Path]:
    """The models that texts stand for, by their names in the sweep, in order.

    The name of a model in a folder is its path there, that of any other one is its file's, both
    without the suffix.

    Raises:
        AtcError: FILE_NOT_FOUND for a folder without models; DUPLICATE_MODEL for two files of one name.
    """
    found: dict[str, Path] = {}
    for text in given:
        folder = Path(text) if is_folder(text) else None
        for path in model_paths([text]):
            inner = Path(path.name) if folder is None else path.relative_to(folder)
            name = legible((inner.with_suffix("") if inner.name else inner).as_posix())
            if name in found:
                _refuse_second(name, path, found[name])
            found[name] = path
    return found


def combinations_of(
    models: Iterable[str],
    socs: Sequence[str],
    modes: Sequence[str],
    lists: Sequence[str],
    *,
    specs: Path | None = None,
) -> list[Combination]:
    """All combinations, those of a model together; `specs` is overlaid on every list."""
    socs = [find_soc(name).name for name in socs]
    known = {mode.value for mode in PrecisionMode}
    for mode in modes:
        if mode not in known:
            raise BAD_OPTION.error(
                Text("no precision mode is called {second} here", second=repr(mode)),
                help=Text("modes are {known}", known=", ".join(sorted(known))),
            )
    chosen = [parse_options("sweep", PrecisionOptions, {"operator_list": name}) for name in lists]
    lists = [precision.operator_list for precision in chosen]
    for name in lists:
        specifications(specs, name)
    for axis, values in (("--soc", socs), ("--precision-mode", modes), ("--list", lists)):
        if len(set(values)) < len(values):
            raise BAD_OPTION.error(
                Text(
                    "{axis} names the same value twice: {values}",
                    axis=axis,
                    values=", ".join(values),
                ),
                help=Text("name each value once"),
            )
    return [Combination(*each) for each in product(models, socs, modes, lists)]


def _refuse_second(name: str, path: Path, first: Path) -> None:
    if same_path(path, first):
        raise DUPLICATE_MODEL.error(
            Text("the model {path} is given twice", path=path),
            place=Place(str(path)),
            help=Text("name each file once"),
        )
    raise DUPLICATE_MODEL.error(
        Text(
            "two models have the name {name}: {first} and {path}",
            name=repr(name),
            first=first,
            path=path,
        ),
        place=Place(str(path)),
        help=Text(
            "name each file once, or name the folder that has both: models in it are called by "
            "their paths there"
        ),
    )
