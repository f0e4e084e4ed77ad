"""`board pack`: what a kit holds, what it expects, and what it refuses."""

import hashlib
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
import pytest

import atc_py
from atc_py.adapters.board.expectations import Draws
from atc_py.adapters.board.layout import ExpectedLayers, Manifest
from atc_py.adapters.board.pack import Packed, home_options, pack_board
from atc_py.adapters.board.variants import shared_compiling, variants_of
from atc_py.diag import BAD_OPTION, KIT_IN_USE, AtcError
from atc_py.pipeline.convert import compile_file
from tests.aipp_graph.networks import DYNAMIC, RGB, config
from tests.board.conftest import pack, request, residual_model


def test_manifest_names_every_file_and_its_digest(packed: Packed) -> None:
    manifest = msgspec.json.decode((packed.folder / "manifest.json").read_bytes(), type=Manifest)
    assert manifest == packed.manifest
    found = {path.relative_to(packed.folder).as_posix() for path in packed.folder.rglob("*.*")}
    assert {entry.path for entry in manifest.files} == found - {"manifest.json"}
    for entry in manifest.files:
        data = (packed.folder / entry.path).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (entry.bytes, entry.sha256)


def test_nodes_have_names_of_their_own_and_the_rest_is_as_it_was(packed: Packed) -> None:
    written, given = onnx.load(packed.folder / "model.onnx"), residual_model()
    names = [node.name for node in written.graph.node]
    assert len(set(names)) == len(names)
    assert all(names)
    assert {"second", "pool", "dense"} < set(names)
    assert packed.manifest.source.named == 4
    for node in (*written.graph.node, *given.graph.node):
        node.name = ""
    assert list(written.graph.node) == list(given.graph.node)
    assert [each.name for each in written.graph.initializer] == ["w", "b", "v", "g"]


def test_archive_is_the_folder_and_the_same_each_time(packed: Packed, tmp_path: Path) -> None:
    again = pack(residual_model(), tmp_path, request(unfused=True))
    given = [(each.folder / "inputs/s0/0.npy").read_bytes() for each in (packed, again)]
    assert given[0] == given[1]
    with zipfile.ZipFile(packed.archive) as first, zipfile.ZipFile(again.archive) as second:
        assert first.namelist() == second.namelist()
        # The manifest has the path of the model, which differs.
        same = [name for name in first.namelist() if not name.endswith("manifest.json")]
        assert [first.read(name) for name in same] == [second.read(name) for name in same]
        assert {info.date_time for info in first.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert first.getinfo("kit/run_on_board.py").external_attr >> 16 == 0o100755


def test_expected_outputs_are_those_of_simulator_and_original(
    packed: Packed, tmp_path: Path
) -> None:
    (sample,) = packed.manifest.samples
    fed = np.load(packed.folder / sample.inputs[0])
    for variant in packed.manifest.variants:
        options = home_options(variant, packed.folder)
        assert options.precision_mode.value == "force_fp16"
        done = compile_file(packed.folder / "model.onnx", tmp_path / "m.om", options)
        with atc_py.load(done.output) as model:
            wanted = model.run({"x": fed})["y"]
        own = np.load(packed.folder / f"expected/{variant.name}/s0/0.npy")
        assert np.array_equal(own, wanted)
        original = np.load(packed.folder / "expected/original/s0/0.npy")
        assert 0 < np.abs(own - original).max() < 0.01


def test_layers_have_values_names_and_digests(packed: Packed) -> None:
    folder = packed.folder / "expected/force_fp16/s0"
    layers = msgspec.json.decode((folder / "layers.json").read_bytes(), type=ExpectedLayers).layers
    values = {layer.value: layer for layer in layers}
    assert {"r", "s", "p", "y"} <= values.keys()
    assert values["s"].op == "Add"
    assert values["s"].origins[-1].startswith("Add_")
    assert values["r"].dtype == "float16"
    array = np.load(folder / values["r"].file)
    assert array.dtype == np.float16
    assert hashlib.sha256(array.tobytes()).hexdigest() == values["r"].sha256
    assert values["r"].least == 0
    assert values["r"].largest == float(array.max())


def test_arrays_of_layers_keep_to_their_room(tmp_path: Path) -> None:
    done = pack(residual_model(), tmp_path, request(room=2500))
    arrays = [*done.folder.glob("expected/*/s0/layers/*.npy")]
    assert 0 < sum(path.stat().st_size for path in arrays) <= 2500
    text = (done.folder / "expected/force_fp16/s0/layers.json").read_bytes()
    layers = msgspec.json.decode(text, type=ExpectedLayers).layers
    assert len([layer for layer in layers if layer.file]) == len(arrays) < len(layers)


def test_gears_have_a_run_each(tmp_path: Path) -> None:
    keywords = {"input_shape": "x:-1,3,8,8", "batch_sizes": "1,2"}
    done = pack(residual_model("n"), tmp_path, request(), **keywords)
    runs = [(each.name, each.gear, each.outputs) for each in done.manifest.samples]
    assert runs == [("g0-s0", (1,), ((1, 5),)), ("g1-s0", (2,), ((2, 5),))]
    assert done.manifest.inputs[0].shape == (None, 3, 8, 8)
    words = done.manifest.variants[0].atc
    assert {"--input_shape=x:-1,3,8,8", "--dynamic_batch_size=1,2"} < set(words)


def test_open_dims_are_those_of_the_data(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 3, 8, 8), np.float32))
    given = request(draws=Draws((f"x={tmp_path / 'x.npy'}",), 1, 0))
    done = pack(residual_model("n"), tmp_path, given)
    assert [[*shape] for shape in done.manifest.samples[0].outputs] == [[2, 5]]


def test_pictures_are_fed_as_aipp_takes_them(tmp_path: Path) -> None:
    done = pack(residual_model(), tmp_path, request(), aipp=config(tmp_path, RGB))
    assert (done.manifest.inputs[0].dtype, done.manifest.inputs[0].shape) == ("uint8", (1, 8, 8, 3))
    assert np.load(done.folder / "inputs/s0/0.npy").dtype == np.uint8
    assert "--insert_op_conf=config/aipp.cfg" in done.manifest.variants[0].atc
    assert (done.folder / "config/aipp.cfg").read_text() == (tmp_path / "aipp.cfg").read_text()


def test_settings_of_each_run_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AtcError) as caught:
        pack(residual_model(), tmp_path, request(), aipp=config(tmp_path, DYNAMIC))
    assert caught.value.diagnostics[0].code is BAD_OPTION
    assert not (tmp_path / "kit").exists()
    assert not (tmp_path / "kit.zip").exists()


def test_name_that_no_folder_can_have_is_refused(tmp_path: Path) -> None:
    model = tmp_path / "residual.onnx"
    onnx.save(residual_model(), model)
    with pytest.raises(AtcError, match="File name too long"):
        pack_board(model, tmp_path / ("x" * 300), {"soc": "Ascend310P3"}, request())


def test_model_is_fixed_for_cann(tmp_path: Path) -> None:
    model = residual_model()
    model.graph.node[1].op_type = "Mish"
    model.opset_import[0].version = 18
    with pytest.raises(AtcError):
        pack(model, tmp_path, request())
    done = pack(model, tmp_path, request(), fix={})
    assert done.manifest.source.rules
    assert done.manifest.source.original == "model"
    assert "Mish" not in {node.op_type for node in onnx.load(done.folder / "model.onnx").graph.node}
    original, own = (
        np.load(done.folder / f"expected/{name}/s0/0.npy") for name in ("original", "force_fp16")
    )
    assert 0 < np.abs(own - original).max() < 0.01


@pytest.mark.parametrize("has", ["results", "other"])
def test_folder_with_something_else_is_kept(has: str, kit: Path) -> None:
    if has == "other":
        (kit / "manifest.json").unlink()
    else:
        (kit / "results").mkdir()
    before = sorted(kit.rglob("*"))
    with pytest.raises(AtcError) as caught:
        pack(residual_model(), kit.parent, request())
    assert caught.value.diagnostics[0].code is KIT_IN_USE
    assert sorted(kit.rglob("*")) == before


def test_kit_replaces_one_that_was_not_run(kit: Path) -> None:
    done = pack(residual_model(), kit.parent, request(draws=Draws((), 2, 7)))
    assert [sample.name for sample in done.manifest.samples] == ["s0", "s1"]
    assert not (kit / "config").exists()


def test_options_become_atc_words_and_files(tmp_path: Path) -> None:
    keep = tmp_path / "keep.txt"
    keep.write_text("dense\n")
    keywords: dict[str, Any] = {
        "soc": "Ascend910B3", "keep_dtype": keep, "output_type": "FP16", "allow_hf32": True,
        "enable_small_channel": True, "quant_bias": "auto", "cann": "8.5", "input_shape": "x:1,3,8,8",
    }  # fmt: skip
    shared = shared_compiling(keywords)
    assert shared.files == {"config/keep_dtype.txt": b"dense\n"}
    modes = ("allow_mix_precision", "force_fp16")
    variants, files = variants_of("net", shared, "Ascend910B3", modes, unfused=True)
    names = ["allow_mix_precision", "force_fp16", "allow_mix_precision-unfused"]
    assert [each.name for each in variants] == names
    assert variants[1].atc == (
        "--framework=5", "--model=model.onnx", "--output=results/force_fp16/om/net_force_fp16",
        "--soc_version=Ascend910B3", "--precision_mode=force_fp16", "--keep_dtype=config/keep_dtype.txt",
        "--output_type=FP16", "--allow_hf32=true", "--input_shape=x:1,3,8,8", "--enable_small_channel=1",
    )  # fmt: skip
    assert variants[1].compiling["cann"] == "8.5"
    assert variants[2].without_fusion
    assert list(files) == ["config/without_fusion.cfg"]


def test_faults_name_the_files_that_were_given(tmp_path: Path) -> None:
    keep = tmp_path / "keep.txt"
    keep.write_text("nothing\n")
    for keywords, wanted in (({"keep_dtype": keep}, keep), ({}, tmp_path / "residual.onnx")):
        size = "width" if wanted.suffix == ".onnx" else 8
        with pytest.raises(AtcError) as raised:
            pack(residual_model(size=(8, size)), tmp_path, request(), **keywords)
        places = {each.place.file for each in raised.value.diagnostics if each.place is not None}
        assert places == {str(wanted)}
