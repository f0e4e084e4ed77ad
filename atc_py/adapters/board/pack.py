"""`board pack`: the folder and the archive that a host with CANN takes."""

import re
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from atc_py import __version__
from atc_py.adapters.board import layout
from atc_py.adapters.board.expectations import Draws, Expectations, Expected
from atc_py.adapters.board.layout import KitFile, KitSource, KitVariant, Manifest
from atc_py.adapters.board.variants import (
    config_path,
    shared_compiling,
    variants_of,
)
from atc_py.compare.dims_of_data import shapes_with_data
from atc_py.compare.proof.fix_file import fix_file
from atc_py.diag import BAD_OPTION, KIT_IN_USE, AtcError, Diagnostic, Place
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.rewriting.onnx_writer import write_with_names
from atc_py.onnx_graph.rewriting.qdq.to_qdq import is_deploy_form
from atc_py.options.command_options import FixOptions
from atc_py.options.compile_options import CheckOptions, CompileOptions
from atc_py.options.input_shapes import shapes_text
from atc_py.options.option import parse_options
from atc_py.options.ranges import refuse_ranges
from atc_py.system.atomic_files import atomic_write, make_folder
from atc_py.system.cache_folders import is_folder, templates_dir
from atc_py.system.input_files import sha256_of
from atc_py.system.structs import Result, replace
from atc_py.system.temp_folders import work_folder
from atc_py.text import Text

_ODD = re.compile(r"[^A-Za-z0-9_-]+")
_EPOCH = (1980, 1, 1, 0, 0, 0)


class PackRequest(msgspec.Struct, frozen=True):
    """Contents of a kit to be."""

    modes: tuple[str, ...]  # precision modes, a variant each
    unfused: bool  # the first of them again, with the fusion switches off
    draws: Draws  # data of the runs
    # bytes that arrays of layers may take; None for a tenth of the model's, all arrays together
    room: int | None
    executes: int  # executions under msprof
    repeats: int  # timed executions of a plain run
    # file that runs as the original in place of the model; None for the model
    reference: Path | None = None


class Packed(Result, frozen=True):
    """A kit that was written.

    Attributes:
        folder: the kit.
        archive: the same as one file.
        archive_bytes: its size.
        model_bytes: size of the kit's model with its weights.
        manifest: what it holds.
        warnings: what is odd about the data of the runs.
    """

    folder: Path
    archive: Path
    archive_bytes: int
    model_bytes: int
    manifest: Manifest
    warnings: tuple[Diagnostic, ...]


def pack_board(
    model: Path,
    folder: Path,
    keywords: Mapping[str, Any],
    request: PackRequest,
    on_stage: Callable[[str], None] | None = None,
) -> Packed:
    """Write a kit with `keywords` of `convert`, and its archive, whose name has `.zip` after it.

    A kit that is there and has no results is replaced.

    Raises:
        AtcError: as `refuse_used` does; what fixing, compiling and running raise. Nothing is
            written then.
    """
    given, draws = keywords.get("input_shape") or "", request.draws
    notes: list[Diagnostic] = []
    dims = shapes_with_data(model, given, draws.inputs, draws.samples, keywords, notes)
    keywords = {**keywords, **({"input_shape": shapes_text(dims)} if dims else {})}
    options = parse_options("board pack", CompileOptions, keywords)
    refuse_ranges(options.ranges, Text("runs of a kit need fixed shapes or those of gears"))
    refuse_used(folder)
    parent = folder.absolute().parent
    make_folder(parent)
    with work_folder(parent) as work:
        kit = work / "kit"
        kit.mkdir()
        try:
            manifest, warnings = _filled(model, kit, keywords, options, request, on_stage)
        except AtcError as error:
            raise AtcError(*_placed(error.diagnostics, model, kit, keywords)) from error
        with atomic_write(folder.with_name(f"{folder.name}.zip")) as file:
            write_zip(kit, folder.name, file)
        if folder.is_dir():
            folder.replace(work / "old")
        kit.replace(folder)
    archive = folder.with_name(f"{folder.name}.zip")
    weights = sum(each.bytes for each in manifest.files if each.path.startswith(layout.MODEL))
    size = archive.stat().st_size
    warnings = (*notes, *_placed(warnings, model, kit, keywords))
    return Packed(folder, archive, size, weights, manifest, warnings)


def _filled(
    model: Path,
    kit: Path,
    keywords: Mapping[str, Any],
    options: CompileOptions,
    request: PackRequest,
    on_stage: Callable[[str], None] | None,
) -> tuple[Manifest, Sequence[Diagnostic]]:
    """Fill the folder of a kit; return its manifest, and what is odd about the data of the runs."""
    shared = shared_compiling(keywords)
    source = _write_model(model, kit, options, on_stage)
    name = _ODD.sub("_", model.stem).strip("_") or "model"
    found, files = variants_of(name, shared, options.soc, request.modes, unfused=request.unfused)
    variants = [replace(each, executes=request.executes) for each in found]
    _write_all(kit, {**shared.files, **files})
    original = model if source.original == "model" else None
    if request.reference is not None:
        original, path = request.reference, str(request.reference)
        source = replace(source, original="reference", reference=path)
    writer = Expectations(kit, original, request.room)
    compiled = [(each, home_options(each, kit)) for each in variants]
    expected = writer.write(kit / layout.MODEL, compiled, request.draws, on_stage)
    return _finish(kit, source, options, variants, expected, request), expected.warnings


def _placed(
    findings: Sequence[Diagnostic], model: Path, kit: Path, keywords: Mapping[str, Any]
) -> Iterator[Diagnostic]:
    """Yield findings with the files that were given in place of the kit's copies of them."""
    given = {kit / layout.MODEL: model}
    given |= {
        kit / config_path(name): path for name, path in keywords.items() if isinstance(path, Path)
    }
    names = {str(copy): str(path) for copy, path in given.items()}
    for found in findings:
        place = found.place
        file = None if place is None else names.get(place.file or "")
        yield (
            found
            if place is None or file is None
            else found._replace(place=place._replace(file=file))
        )


def refuse_used(folder: Path) -> None:
    """Refuse a folder that is neither empty nor a kit without results.

    Raises:
        AtcError: KIT_IN_USE; BAD_OPTION for a path without a name, such as `.`.
    """
    if folder.name in {"", ".."}:
        raise BAD_OPTION.error(
            Text("--output {folder} must name a new folder for the kit", folder=folder),
            help=Text("give a new folder with --output"),
        )
    if not is_folder(folder) or not any(folder.iterdir()):
        return
    if (folder / layout.RUN_FOLDER).exists():
        raise KIT_IN_USE.error(
            Text("{folder} is a kit that already has results", folder=folder),
            place=Place(str(folder)),
            help=Text("give another folder with --output, or remove that one"),
        )
    if not (folder / layout.MANIFEST).is_file():
        raise KIT_IN_USE.error(
            Text("{folder} holds files that do not belong to a kit", folder=folder),
            place=Place(str(folder)),
            help=Text("give a new folder with --output"),
        )


def _write_model(
    model: Path, kit: Path, options: CompileOptions, on_stage: Callable[[str], None] | None
) -> KitSource:
    """Write the model as atc takes it: fixed for CANN where that is asked, a name for each node."""
    file, applied, taken = read_model(model), [], model
    if options.fix is not None:
        if on_stage is not None:
            on_stage("fix")
        (kit / "fixed").mkdir()
        rules = replace(options.fix, for_cann=True)
        fixing = FixOptions(CheckOptions.of(options), rules, seeds=1, simulate=False)
        done = fix_file(model, kit / "fixed" / layout.MODEL, fixing)
        taken = model if done.output is None else done.output
        applied = sorted({rule for each in done.rewrites for rule in each.rules})
        file = read_model(taken)
    named = write_with_names(file, kit / layout.MODEL)
    shutil.rmtree(kit / "fixed", ignore_errors=True)
    deploys = is_deploy_form(node.op_type for node in file.nodes)
    changed = taken is not model and not deploys and not (options.fix and options.fix.bind)
    return KitSource(
        path=str(model),
        sha256=sha256_of(model),
        rules=tuple(applied),
        named=named,
        opset=file.opsets.get("", 0),
        original="model" if changed else "kit",
    )


def home_options(variant: KitVariant, kit: Path) -> CompileOptions:
    keywords = {name: _located(kit, value) for name, value in variant.compiling.items()}
    return parse_options("board", CompileOptions, keywords)


def _located(kit: Path, value: str | int | bool) -> object:
    """The value of a keyword, that of a file in the kit as its path."""
    if isinstance(value, str) and value.startswith(f"{layout.CONFIG}/") and (kit / value).is_file():
        return str(kit / value)
    return value


def _finish(
    kit: Path,
    source: KitSource,
    options: CompileOptions,
    variants: Sequence[KitVariant],
    expected: Expected,
    request: PackRequest,
) -> Manifest:
    """Write script, instructions and the manifest."""
    script = (templates_dir() / "board" / layout.SCRIPT).read_bytes()
    _write_all(kit, {layout.SCRIPT: script})
    (kit / layout.SCRIPT).chmod(0o755)
    names = tuple(sample.name for sample in expected.samples)
    manifest = Manifest(
        version=layout.KIT_VERSION,
        atc_py=__version__,
        cann=options.precision.cann,
        soc=options.soc,
        model=layout.MODEL,
        source=source,
        inputs=expected.inputs,
        outputs=expected.outputs,
        gears="" if options.gears is None else options.gears.kind.value,
        samples=expected.samples,
        variants=tuple(replace(each, dump=names) for each in variants),
        files=(),
        repeats=request.repeats,
        back=_back(variants, names),
    )
    _write_all(kit, _instructions(manifest))
    files = tuple(
        KitFile(name, path.stat().st_size, sha256_of(path)) for name, path in _files_of(kit)
    )
    manifest = replace(manifest, files=files)
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    _write_all(kit, {layout.MANIFEST: text + b"\n"})
    return manifest


def _instructions(manifest: Manifest) -> dict[str, bytes]:
    """Texts for a colleague without atc-py, in each language, by their files' names."""
    environment = Environment(  # noqa: S701  (Markdown that people read, not a page)
        loader=FileSystemLoader(templates_dir() / "board"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return {
        name: environment.get_template(f"{name}.j2").render(kit=manifest).encode()
        for name in layout.README.values()
    }


def _back(variants: Sequence[KitVariant], samples: Sequence[str]) -> tuple[str, ...]:
    paths = ["results.json", "host/facts.json"]
    for variant in variants:
        paths += [f"{variant.name}/atc/console.txt", f"{variant.name}/om-json/om.json"]
        for sample in samples:
            paths += [f"{variant.name}/{kind}/{sample}/run.json" for kind in ("plain", "dump")]
            paths.append(f"{variant.name}/dump/{sample}/tree/*")
        paths.append(f"{variant.name}/msprof/{samples[0]}/tables/op_summary*.csv")
    return tuple(paths)


def _write_all(kit: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = kit / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _files_of(kit: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a folder by their paths in it, sorted."""
    found = {path.relative_to(kit).as_posix(): path for path in kit.rglob("*") if path.is_file()}
    yield from sorted(found.items())


def write_zip(kit: Path, name: str, file: Any) -> None:
    """Write the files of a folder to an archive, below a folder `name`; the same give the same bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for inner, path in _files_of(kit):
            member = zipfile.ZipInfo(f"{name}/{inner}", _EPOCH)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3
            member.external_attr = (0o100755 if inner == layout.SCRIPT else 0o100644) << 16
            member.file_size = path.stat().st_size
            with archive.open(member, "w") as target, path.open("rb") as source:
                shutil.copyfileobj(source, target, 1 << 20)
