"""Templates: a golden text for each skeleton, and what is said of templates that fail.

Kernels of every family are compiled and compared with the simulator in `tests/kernels/families`.
Golden are whole texts of a few, and of all of them the tilings, which change no result. They are
refreshed with `ATC_PY_UPDATE_GOLDEN=1 pytest tests/kernels`; look at the difference before you
commit it.
"""

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

import pytest
from jinja2 import Environment, TemplateSyntaxError

from atc_py.diag import AtcError, Diagnostic
from atc_py.ir import AttrValue, Engine, Graph, TensorType
from atc_py.kernels.kernels import KernelSet, emit_kernels
from atc_py.kernels.registry import FAMILIES
from atc_py.kernels.templating import _failing_line
from atc_py.system.cache_folders import templates_dir
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.blocks import image, matrix, stored

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "kernels"
TILINGS = GOLDEN.with_name("tilings.txt")
F16 = DType.FLOAT16
MAP, CHANNELS = (2, 32, 10, 12), (32,)
CHANNELS_OF_ALL = (32, 1, 1)
Shown: TypeAlias = (
    "tuple[str, list[Shape | TensorType | None], list[Shape | TensorType], dict[str, AttrValue]]"
)
SHOWN: dict[str, Shown] = {
    "activation": ("PRelu", [MAP, CHANNELS], [MAP], {}),
    "aipp": (
        "Aipp",
        [TensorType(DType.UINT8, (2, 10, 12, 3))],
        [TensorType(F16, (2, 3, 10, 12))],
        {"src_image_size_h": 10, "src_image_size_w": 12},
    ),
    "bn_inference": ("BNInferenceD", [MAP, *[(1, *CHANNELS_OF_ALL)] * 2], [MAP], {}),
    "batch_norm": ("BNInfer", [MAP, *[CHANNELS] * 4], [MAP], {"epsilon": 1e-3}),
    "binary": ("Add", [MAP] * 2, [MAP], {}),
    "cast": ("Cast", [MAP], [MAP], {}),
    "compare": ("Less", [MAP, (12,)], [MAP], {}),
    "conv": ("Conv2D", [MAP, (48, 32, 3, 3), (48,)], [(2, 48, 10, 12)], {"pads": (1,) * 4}),
    "gather": (
        "GatherElements",
        [TensorType(F16, MAP), TensorType(DType.INT32, (2, 6, 10, 12))],
        [TensorType(F16, (2, 6, 10, 12))],
        {"dim": 1},
    ),
    "loss": (
        "SoftmaxCrossEntropyLoss",
        [(48, 80), TensorType(DType.INT32, (48,))],
        [(), (48, 80)],
        {"ignore_index": -1, "reduction": "mean"},
    ),
    "lrn": ("LRN", [MAP], [MAP], {"depth_radius": 2}),
    "each": ("AdaptiveMaxPool2d", [MAP], [(2, 32, 5, 6)] * 2, {"output_size": (5, 6)}),
    "find": ("NonZero", [MAP], [(4, 100)], {"transpose": True}),
    "test": ("IsNan", [MAP], [TensorType(DType.BOOL, MAP)], {}),
    "triangle": ("Trilu", [MAP], [MAP], {}),
    "mark": ("OneHotD", [(2, 6), (1,), (1,)], [(2, 6, 9)], {"depth": 9}),
    "masked_softmax": ("ScaledMaskedSoftmax", [MAP, (2, 1, 10, 12)], [MAP], {"scale": 0.125}),
    "matmul": ("MatMulV2", [(48, 80), (80, 100), (100,)], [(48, 100)], {}),
    "join": (
        "SplitVD",
        [MAP],
        [(2, 16, 10, 12)] * 2,
        {"size_splits": (16, 16), "split_dim": 1, "num_split": 2},
    ),
    "move": ("TransposeD", [MAP], [(2, 10, 12, 32)], {"perm": (0, 2, 3, 1)}),
    "resize": ("Resize", [MAP, None, (4,)], [(2, 32, 20, 24)], {}),
    "normalize": ("SoftmaxV2", [MAP], [MAP], {"axes": (-1,)}),
    "pad": ("PadV3D", [MAP], [(2, 32, 12, 14)], {"paddings": (0, 0, 0, 0, 1, 1, 1, 1)}),
    "pick": ("GatherNd", [MAP, (6, 2)], [(6, 10, 12)], {}),
    "place": ("TensorScatterUpdate", [MAP, (6, 2), (6, 10, 12)], [MAP], {}),
    "pool": (
        "AvgPoolV2",
        [MAP],
        [(2, 32, 5, 6)],
        {"ksize": (1, 1, 3, 3), "strides": (1, 1, 2, 2), "pads": (1, 1, 1, 1)},
    ),
    "quant": ("AscendRequantS16", [MAP, CHANNELS, MAP], [MAP] * 2, {"dual_output": True}),
    "lstm": (
        "DynamicRNN",
        [(5, 2, 16), (48, 128), (128,)],
        [(5, 2, 32)] * 3,
        {"is_training": False},
    ),
    "gru": (
        "DynamicGRUV2",
        [(5, 2, 16), (16, 96), (32, 96), (96,), (96,)],
        [(5, 2, 32)] * 2,
        {"is_training": False},
    ),
    "reduce": ("ReduceMeanD", [MAP], [(2, 32)], {"axes": (2, 3)}),
    "sample": (
        "ROIAlign",
        [MAP, (6, 5)],
        [(6, 32, 7, 7)],
        {"spatial_scale": 0.25, "pooled_height": 7, "pooled_width": 7, "roi_end_mode": 0},
    ),
    "scan": ("CumsumD", [MAP], [MAP], {"axis": 1}),
    "scatter": ("ScatterElements", [MAP, (2, 6, 10, 12), (2, 6, 10, 12)], [MAP], {"axis": 1}),
    "suppress": ("NonMaxSuppressionV7", [(2, 30, 4), (2, 3, 30)], [(40, 3)], {}),
    "select": ("SelectV2", [MAP, MAP, (32, 1, 1)], [MAP], {}),
    "trans_data": (
        "TransData",
        [MAP],
        [image(F16, *MAP)],
        {"src_format": "NCHW", "dst_format": "NC1HWC0"},
    ),
    "unary": ("ClipByValue", [MAP, (), ()], [MAP], {}),
}
"""One kernel of each family of this folder, and skeletons of others."""

IN_BLOCKS: dict[str, Shown] = {
    "binary": ("RealDiv", [image(F16, *MAP), CHANNELS_OF_ALL], [image(F16, *MAP)], {}),
    "conv": (
        "Conv2D",
        [image(F16, *MAP), stored(F16, (48, 32, 3, 3), "FRACTAL_Z"), (48,)],
        [image(F16, 2, 48, 10, 12)],
        {"pads": (1,) * 4},
    ),
    "matmul": (
        "MatMulV2",
        [matrix(F16, 48, 80), matrix(F16, 80, 100), (100,)],
        [matrix(F16, 48, 100)],
        {},
    ),
    "pool": (
        "MaxPoolV3",
        [image(F16, *MAP)],
        [image(F16, 2, 32, 5, 6)],
        {"ksize": (1, 1, 3, 3), "strides": (1, 1, 2, 2), "pads": (1, 1, 1, 1)},
    ),
    "quant": ("AscendQuant", [image(F16, *MAP)], [image(DType.INT8, *MAP)], {"scale": 2.0}),
}
"""One kernel of each family that takes blocks."""

SKELETONS = ("binary", "matmul", "move", "pool", "lstm", "reduce")
"""A family for each skeleton of a kernel; their texts are golden."""

SIM = find_soc("sim")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a copy of the kernel templates to spoil."""
    folder = tmp_path / "templates"
    shutil.copytree(templates_dir() / "kernels", folder)
    return folder


def _shown(
    graph: Graph, add_node: AddNode, names: Iterable[str] = SHOWN, blocks: Iterable[str] = IN_BLOCKS
) -> KernelSet:
    """Return a kernel of each family, one with links, one for the AI CPU, one of several nodes."""
    for shown in (*(SHOWN[name] for name in names), *(IN_BLOCKS[name] for name in blocks)):
        add_node(graph, *shown)
    add_node(graph, "Add", [MAP, (32, 1, 1)], [MAP])
    add_node(graph, *SHOWN["binary"])
    add_node(graph, "AvgPoolV2", engine=Engine.AICPU)
    head = add_node(graph, *SHOWN["conv"])
    other = graph.add_input("other", head.output.type)
    added = graph.add_node("Add", [head.output, other], [("sum", head.output.type)], {})
    swish = graph.add_node("Swish", [added.output], [("out", head.output.type)], {"scale": 1.0})
    for node in (head, added, swish):
        node.scope, node.engine = 1, Engine.AICORE
    return emit_kernels(graph, SIM)


def test_kernels_are_the_golden_texts(graph: Graph, add_node: AddNode) -> None:
    kernels = _shown(graph, add_node, SKELETONS, ())
    if os.environ.get("ATC_PY_UPDATE_GOLDEN") == "1":
        shutil.rmtree(GOLDEN, ignore_errors=True)
        for path, text in kernels.files.items():
            (GOLDEN / path).parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / path).write_text(text, encoding="utf-8")
    golden = {
        path.relative_to(GOLDEN).as_posix(): path.read_text(encoding="utf-8")
        for path in GOLDEN.rglob("*")
        if path.is_file()
    }
    assert sorted(golden) == sorted(kernels.files)
    for path, text in kernels.files.items():
        assert golden[path] == text, path


def _row(header: str) -> str:
    """Return the numbers of a table of tilings with one row."""
    (row,) = re.findall(r"^    \{.*?\},\n(?=\};)", header, re.DOTALL | re.MULTILINE)
    return " ".join(row.split())


def test_tilings_are_the_golden_ones(graph: Graph, add_node: AddNode) -> None:
    kernels = _shown(graph, add_node)
    headers = {path.partition("/")[0]: text for path, text in kernels.files.items() if "_t" in path}
    text = "".join(f"{name} {_row(header)}\n" for name, header in headers.items())
    if os.environ.get("ATC_PY_UPDATE_GOLDEN") == "1":
        TILINGS.write_text(text, encoding="utf-8")
    assert text.splitlines() == TILINGS.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("family", "barriers"), [("binary", 1), ("conv", 3), ("matmul", 1), ("pool", 1), ("quant", 1)]
)
def test_kernels_of_blocks_wait_for_what_is_filled_in(
    graph: Graph, add_node: AddNode, family: str, barriers: int
) -> None:
    """Check barriers for patterns and padding that no queue passes on; a host run needs none."""
    add_node(graph, *IN_BLOCKS[family])
    (source,) = [
        text
        for path, text in emit_kernels(graph, SIM).files.items()
        if "/" in path and path.endswith(".cpp")
    ]
    assert source.count("PipeBarrier<PIPE_ALL>();") == barriers


def test_golden_tilings_show_every_family() -> None:
    assert {family.name for family in FAMILIES.all().values()} <= set(SHOWN)


def test_every_template_is_used() -> None:
    """Check for use by a family, as parent or macros of another template, or by the project."""
    folder = templates_dir() / "kernels"
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.cpp.j2")}
    named = {f"{family.template}.cpp.j2" for family in FAMILIES.all().values()}
    named |= {f"{name}.cpp.j2" for name in ("aicpu", "skeleton", "host_kernels")}
    named |= {name for name in texts if any(f'"{name}"' in text for text in texts.values())}
    assert set(texts) - named - {"conv.cpp.j2", "matmul.cpp.j2"} == set()


def test_templates_are_compiled_once(
    graph: Graph, add_node: AddNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = _shown(graph, add_node)
    monkeypatch.setattr(Environment, "compile", lambda *_: pytest.fail("compiled again"))
    assert emit_kernels(graph, SIM) == kernels


def _refused(graph: Graph, folder: Path) -> Diagnostic:
    with pytest.raises(AtcError) as caught:
        emit_kernels(graph, SIM, folder)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code.name == "bad-template"
    return diagnostic


def test_own_templates_take_the_place_of_the_built_in_ones(
    graph: Graph, add_node: AddNode, own: Path
) -> None:
    add_node(graph, "Relu")
    (own / "unary.cpp.j2").write_text("mine: {{ kernel }}\n")
    kernels = emit_kernels(graph, SIM, own)
    (name,) = kernels.kernel_of.values()
    assert kernels.files[f"{name}/{name}.cpp"] == f"mine: {name}\n"


def test_own_folder_may_have_some_templates_alone(
    graph: Graph, add_node: AddNode, own: Path
) -> None:
    add_node(graph, "Relu")
    add_node(graph, "Add")
    kernels = emit_kernels(graph, SIM)
    for path in own.rglob("*.j2"):
        if path.name not in {"macros.j2", "Neg.j2"}:
            path.unlink()
    assert emit_kernels(graph, SIM, own) == kernels


def test_a_folder_that_is_not_there_is_refused(
    graph: Graph, add_node: AddNode, tmp_path: Path
) -> None:
    add_node(graph, "Relu")
    diagnostic = _refused(graph, tmp_path / "nowhere")
    assert "there is no folder of templates" in diagnostic.message


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the templates of atc-py by none."""
    monkeypatch.setattr("atc_py.kernels.kernels.templates_dir", lambda: tmp_path / "bare")


@pytest.mark.usefixtures("bare")
def test_a_missing_template_is_named(graph: Graph, add_node: AddNode, own: Path) -> None:
    add_node(graph, "Relu")
    (own / "unary.cpp.j2").unlink()
    diagnostic = _refused(graph, own)
    assert "'unary.cpp.j2'" in diagnostic.message
    assert diagnostic.place is not None
    assert diagnostic.place.file == str(own / "unary.cpp.j2")


@pytest.mark.usefixtures("bare")
def test_a_missing_parent_is_named(graph: Graph, add_node: AddNode, own: Path) -> None:
    add_node(graph, "Relu")
    (own / "base.cpp.j2").unlink()
    assert "'base.cpp.j2'" in _refused(graph, own).message


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("fine\n{% if %}\n", 2, "Expected an expression"),
        ("fine\n\n{{ nonsense }}\n", 3, "'nonsense' is undefined"),
        ("fine\n{{ inputs[0].nonsense }}\n", 2, "no attribute 'nonsense'"),
        ("{{ kernel.__class__.__mro__ }}\n", 1, "access to attribute '__class__'"),
        ("fine\n{{ 1 // 0 }}\n", 2, "by zero"),
        ("fine\n{{ 1 + 'a' }}\n", 2, "unsupported operand"),
        ("{% include 'unary.cpp.j2' %}\n", 1, "recursion"),
    ],
)
def test_a_template_that_fails_is_named_with_its_line(
    text: str, line: int, reason: str, graph: Graph, add_node: AddNode, own: Path
) -> None:
    add_node(graph, "Relu")
    (own / "unary.cpp.j2").write_text(text)
    diagnostic = _refused(graph, own)
    assert "'unary.cpp.j2'" in diagnostic.message
    assert reason in diagnostic.message
    assert diagnostic.place is not None
    assert diagnostic.place.file == str(own / "unary.cpp.j2")
    assert diagnostic.place.line == line


def test_a_failing_parent_is_the_place_of_its_failure(
    graph: Graph, add_node: AddNode, own: Path
) -> None:
    add_node(graph, "Relu")
    (own / "base.cpp.j2").write_text("\n\n\n{{ nonsense }}\n")
    diagnostic = _refused(graph, own)
    assert diagnostic.place is not None
    assert diagnostic.place.file == str(own / "base.cpp.j2")
    assert diagnostic.place.line == 4


def test_a_template_that_is_not_text_is_refused(graph: Graph, add_node: AddNode, own: Path) -> None:
    add_node(graph, "Relu")
    (own / "unary.cpp.j2").write_bytes(b"\xff\xfe")
    assert "does not render" in _refused(graph, own).message


def test_a_template_that_is_fixed_renders_again(graph: Graph, add_node: AddNode, own: Path) -> None:
    add_node(graph, "Relu")
    text = (own / "unary.cpp.j2").read_text()
    (own / "unary.cpp.j2").write_text("{{ nonsense }}")
    _refused(graph, own)
    (own / "unary.cpp.j2").write_text(text)
    os.utime(own / "unary.cpp.j2", (1, 1))
    assert emit_kernels(graph, SIM, own) == emit_kernels(graph, SIM)


@pytest.mark.parametrize(("named", "said"), [("inner.j2", "inner.j2"), (None, "outer.j2")])
def test_a_fault_of_syntax_is_in_the_template_that_has_it(named: str | None, said: str) -> None:
    error = TemplateSyntaxError("unexpected end", 7, filename=named)
    assert _failing_line(Path("outer.j2"), error) == (said, 7)
