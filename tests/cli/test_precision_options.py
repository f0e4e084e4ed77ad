"""The options on precision of `convert`, and what `info --precision` shows."""

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.options.compile_options import PrecisionMode
from atc_py.report.model.records import PrecisionRecord, read_record
from tests.cli.conftest import Result, small_model

Atc = Callable[..., Result]


@pytest.fixture
def onnx_file(tmp_path: Path) -> Path:
    """Return a convolution called `conv` and a Relu called `last`."""
    path = tmp_path / "net.onnx"
    onnx.save(small_model(), path)
    return path


def chosen(atc: Atc, *args: object) -> dict[str, str]:
    """Return the dtype of each node's result after `convert` with `args`, by name in the file."""
    done = atc("convert", *args, "--json")
    assert done.status == 0, done.err
    nodes = done.json["precision"]["nodes"]
    return {each["from"][0]: each["chosen"]["outputs"][0] for each in nodes}


@pytest.mark.parametrize(
    ("second", "first"), [(name, mode.value) for name, mode in PrecisionMode.second_names().items()]
)
def test_second_name_is_the_same_mode(atc: Atc, onnx_file: Path, second: str, first: str) -> None:
    soc = ("--soc", "Ascend910B3")
    by_second = atc("convert", onnx_file, *soc, "--precision-mode-v2", second, "-o", "a.om")
    by_first = atc("convert", onnx_file, *soc, "--precision_mode", first, "-o", "b.om")
    assert (by_second.status, by_first.status) == (0, 0)
    assert Path("a.om").read_bytes() == Path("b.om").read_bytes()


def test_both_names_of_a_mode_are_refused(atc: Atc, onnx_file: Path) -> None:
    both = ("--precision-mode", "force_fp16", "--precision-mode-v2", "fp16")
    done = atc("convert", onnx_file, *both)
    assert done.status == 2
    assert "options-exclude-each-other" in done.err
    assert "--precision-mode force_fp16" in done.err


def test_unknown_second_name_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(AtcError) as caught:
        atc_py.convert(tmp_path / "net.onnx", precision_mode_v2="mixed_hif8")
    (found,) = caught.value.diagnostics
    assert found.code.name == "bad-option-value"
    assert found.help is not None
    assert "mixed_bfloat16" in found.help


def test_bfloat16_mode_on_a_soc_without_it_is_refused(atc: Atc, onnx_file: Path) -> None:
    done = atc("convert", onnx_file, "--precision-mode", "allow_mix_precision_bf16")
    assert done.status == 2
    assert "soc-lacks-bfloat16" in done.err
    assert "Ascend910B3" in done.err


def test_keep_dtype_reaches_the_node(atc: Atc, onnx_file: Path) -> None:
    Path("keep.cfg").write_text("conv\n", encoding="utf-8")
    assert chosen(atc, onnx_file) == {"conv": "float16", "last": "float16"}
    kept = chosen(atc, onnx_file, "--keep-dtype", "keep.cfg")
    assert kept == {"conv": "float32", "last": "float16"}


def test_keep_dtype_of_an_unknown_node_offers_the_nearest(atc: Atc, onnx_file: Path) -> None:
    Path("keep.cfg").write_text("last\nconvv\n", encoding="utf-8")
    done = atc("convert", onnx_file, "--keep_dtype", "keep.cfg")
    assert done.status == 2
    for text in ("name-not-in-model", "keep.cfg:2", "'convv'", "'conv'"):
        assert text in done.err


def test_interface_takes_the_dtypes_that_are_asked_for(atc: Atc, onnx_file: Path) -> None:
    done = atc(
        "convert",
        onnx_file,
        "-o",
        "n.om",
        "--input-fp16-nodes",
        "x",
        "--output-type",
        "last:0:FP16",
    )
    assert done.status == 0, done.err
    found = atc("info", "n.om", "--json").json
    assert [port["dtype"] for port in (*found["inputs"], *found["outputs"])] == ["float16"] * 2
    assert "Cast" not in found["operators"]


def test_info_shows_every_node_and_every_cast(atc: Atc, onnx_file: Path) -> None:
    assert atc("convert", onnx_file, "-o", "n.om").status == 0
    text = atc("info", "n.om", "--precision")
    assert text.status == 0
    for part in ("Conv2D", "force_fp16: floats become float16", "2 casts", "float32 > float16"):
        assert part in text.out
    record = atc("info", "n.om", "--precision", "--json").json
    assert [each["op"] for each in record["nodes"]] == ["Conv2D", "Relu"]
    assert all(each["reason"] for each in record["casts"])
    assert record["nodes"][0]["origin"]["outputs"] == ["float32"]
    assert record["nodes"][0]["chosen"]["outputs"] == ["float16"]


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ({}, "no record of precision"),
        ({"precision": []}, "no record of precision"),
        ({"precision": {"nodes": []}}, "record of precision does not follow its schema"),
    ],
)
def test_offline_model_without_a_record_is_named(report: dict[str, object], message: str) -> None:
    with pytest.raises(AtcError) as caught:
        read_record(report, "precision", PrecisionRecord, "old.om")
    (found,) = caught.value.diagnostics
    assert found.code.name == "offline-model-content"
    assert message in found.message


def test_nothing_given_is_force_fp16(atc: Atc, onnx_file: Path) -> None:
    assert atc("convert", onnx_file, "-o", "a.om").status == 0
    assert atc("convert", onnx_file, "-o", "b.om", "--precision-mode", "force_fp16").status == 0
    assert Path("a.om").read_bytes() == Path("b.om").read_bytes()


def test_implementation_shows_in_info(atc: Atc) -> None:
    onnx.save(small_model(operator="Sigmoid"), "net.onnx")
    Path("modes.ini").write_text("[ByOpType]\nSigmoid=high_performance\n", encoding="utf-8")
    done = atc("convert", "-v", "net.onnx", "-o", "n.om", "--op_precision_mode", "modes.ini")
    assert (done.status, "ATC6011" in done.out) == (0, False)
    record = atc("info", "n.om", "--precision", "--json").json
    (rule,) = [each["rule"] for each in record["nodes"] if each["op"] == "Sigmoid"]
    assert rule.endswith("op-precision-mode: high_performance")
    assert "high_performance" in atc("info", "n.om", "--precision").out


def test_implementation_that_changes_nothing_is_warned_about(atc: Atc, onnx_file: Path) -> None:
    Path("modes.ini").write_text("Relu=high_precision\n", encoding="utf-8")
    done = atc("convert", "-v", onnx_file, "-o", "n.om", "--op_precision_mode", "modes.ini")
    assert done.status == 0
    assert "implementation-mode-without-effect" in done.out
    assert "high_precision changes nothing for Relu" in done.out


def test_check_takes_the_options_of_convert(atc: Atc, onnx_file: Path) -> None:
    both = ("--precision-mode", "force_fp16", "--precision-mode-v2", "fp16")
    assert "options-exclude-each-other" in atc("check", onnx_file, *both).err
    Path("keep.cfg").write_text("convv\n", encoding="utf-8")
    done = atc("check", onnx_file, "--keep-dtype", "keep.cfg")
    assert done.status == 2
    assert "'conv'" in done.err
    Path("custom.cfg").write_text("last::InputDtype:bfloat16\n", encoding="utf-8")
    done = atc("check", onnx_file, "--customize-dtypes", "custom.cfg")
    assert done.status == 1
    assert "no-kernel-for-dtype" in done.out
    shown = atc("check", onnx_file, "--customize-dtypes", "custom.cfg", "--json").json
    assert shown["options"] == {"customize_dtypes": "custom.cfg"}


def test_check_refuses_bfloat16_where_there_is_none(atc: Atc, onnx_file: Path) -> None:
    done = atc("check", onnx_file, "--precision-mode-v2", "mixed_bfloat16")
    assert done.status == 2
    assert "soc-lacks-bfloat16" in done.err
    soc = ("--soc", "Ascend910B3")
    assert atc("check", onnx_file, "--precision-mode-v2", "mixed_bfloat16", *soc).status == 0


@pytest.mark.parametrize(("given", "words"), [((), "HF32"), (("--allow_hf32", "false"), "float32")])
def test_info_says_which_products_a_convolution_has(
    atc: Atc, onnx_file: Path, given: tuple[str, ...], words: str
) -> None:
    soc = ("--soc", "Ascend910B3", "--precision-mode-v2", "origin")
    assert atc("convert", onnx_file, "-o", "n.om", *soc, *given).status == 0
    record = atc("info", "n.om", "--precision", "--json").json
    (rule,) = [each["rule"] for each in record["nodes"] if each["op"] == "Conv2D"]
    assert f"products of {words}: " in rule


def test_exact_results_of_hf32_are_as_expected_to_a_few_parts_in_ten_thousand(
    atc: Atc, onnx_file: Path
) -> None:
    """Results of float32 pass as the expected ones of a model in HF32, and a tenth of them not."""
    soc = ("--soc", "Ascend910B3", "--precision-mode-v2", "origin")
    assert atc("convert", onnx_file, "-o", "f.om", *soc, "--allow-hf32", "false").status == 0
    assert atc("convert", onnx_file, "-o", "h.om", *soc).status == 0
    assert atc("run", "f.om", "--random", "1", "--output", "exact").status == 0
    assert atc("run", "h.om", "--random", "1", "--expect", "y=exact/y.npy").status == 0
    tight = ("--tolerance", "1e-5")
    done = atc("run", "h.om", "--random", "1", "--expect", "y=exact/y.npy", *tight)
    assert done.status == 4


def test_allow_hf32_is_taken_by_every_command_that_compiles(atc: Atc, onnx_file: Path) -> None:
    option = ("--allow-hf32", "true", "--soc", "Ascend910B3")
    for command in ("check", "compare", "kernels", "profile"):
        assert atc(command, onnx_file, *option).status == 0, command
        assert atc(command, onnx_file, "--allow-hf32", "1").status == 2, command
    shown = atc("check", onnx_file, *option, "--json").json
    assert shown["options"] == {"allow_hf32": "true"}


def test_allow_hf32_on_a_soc_without_it_is_warned_about(atc: Atc, onnx_file: Path) -> None:
    done = atc("convert", "-v", onnx_file, "-o", "n.om", "--allow-hf32", "true")
    assert (done.status, "sim has no HF32" in done.out) == (0, True)
    assert "HF32" not in atc("convert", "-v", onnx_file, "-o", "n.om", "--allow-hf32", "false").out


@pytest.mark.parametrize("name", ["mixed_hif8", "force_lowerprecision"])
def test_modes_of_the_fusion_engine_that_are_not_modeled_are_refused(
    atc: Atc, onnx_file: Path, name: str
) -> None:
    for option in ("--precision-mode", "--precision-mode-v2"):
        assert atc("convert", "-v", onnx_file, option, name).status == 2
