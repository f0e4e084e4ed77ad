"""Offline models with false claims: every command gives a result or a coded refusal, in bounded time."""

import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from atc_py.api import convert
from atc_py.cli.main import cli
from atc_py.diag import AtcError, Code, Diagnostic
from atc_py.diag.codes import NOT_OM, NOT_TRUSTED, OM_CONTENT, OM_MEMBER, OM_PLAN, OM_VERSION
from atc_py.ir import placement_proof
from atc_py.ir.memory_plan import PlacedNode, PlacedTensor, Placement
from atc_py.package import content
from atc_py.package.reader import open_model
from tests.hostile.sealed_models import documents, members_of, mutated, sealed
from tests.sampling import sampled

COMMANDS = (
    ("info", "@"),
    ("info", "--precision", "@"),
    ("run", "@", "--random", "0"),
    ("profile", "@"),
    ("profile", "@", "--format", "html"),
    ("kernels", "@"),
    ("kernels", "@", "--output", "kernels"),
)
"""Everything that reads an offline model; `compare` takes ONNX models alone."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return an offline model with products, a launch of several nodes, views, index, constants."""
    random_ = np.random.default_rng(0)
    weights: dict[str, npt.NDArray[Any]] = {
        "f": random_.standard_normal((4, 3, 3, 3)).astype(np.float32),
        "w": random_.standard_normal((36, 5)).astype(np.float32),
        "flat": np.array([1, -1], np.int64),
        "picked": np.array([0, 2], np.int64),
    }
    nodes = [
        helper.make_node("Conv", ["x", "f"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Reshape", ["r", "flat"], ["v"]),
        helper.make_node("MatMul", ["v", "w"], ["m"]),
        helper.make_node("Softmax", ["m"], ["s"], axis=-1),
        helper.make_node("Gather", ["s", "picked"], ["g"], axis=1),
        helper.make_node("LRN", ["c"], ["l"], size=3),
    ]
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 6, 6])],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("g", "l")],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("sound")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, folder / "m.onnx")
    convert(folder / "m.onnx", folder / "m.om")
    return (folder / "m.om").read_bytes()


def command(*args: str) -> tuple[Diagnostic, ...]:
    """Return a command's refusal; anything but a diagnostic is passed on."""
    try:
        cli.main(args, prog_name="atc-py", standalone_mode=False)
    except AtcError as error:
        return error.diagnostics
    return ()


def refusal(path: Path, data: bytes) -> tuple[Code, str]:
    """Return code and message with which a file is refused."""
    path.write_bytes(data)
    with pytest.raises(AtcError) as caught:
        open_model(path)
    found = caught.value.diagnostics[0]
    return found.code, found.message


def described(sound: bytes, change: Callable[[Any], object], member: str = "model.json") -> bytes:
    """Return the model with one of its documents changed."""
    members = members_of(sound)
    document = json.loads(members[member])
    change(document)
    members[member] = json.dumps(document).encode()
    return sealed(members)


@pytest.mark.parametrize("start", sampled([0], range(20, 120, 20)))
def test_mutated_documents_are_taken_or_refused(
    sound: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: int
) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in range(start, start + 20):
        generator = random.Random(seed)  # noqa: S311  (no secret)
        members = members_of(sound)
        name = generator.choice(documents)
        members[name] = json.dumps(mutated(json.loads(members[name]), generator)).encode()
        (tmp_path / "m.om").write_bytes(sealed(members))
        for each in COMMANDS:
            for found in command(*(part.replace("@", "m.om") for part in each)):
                assert found.code.id[:4] in {"ATC1", "ATC2", "ATC5", "ATC7"}, (seed, each)


@pytest.mark.parametrize("start", sampled([0], range(100, 400, 100)))
def test_flipped_bits_are_found_by_every_command(
    sound: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: int
) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in range(start, start + 100):
        generator = random.Random(seed)  # noqa: S311  (no secret)
        data = bytearray(sound)
        for _ in range(generator.choice((1, 1, 2, 9))):
            data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        if generator.random() < 0.1:
            del data[generator.randrange(len(data)) :]
        if data == sound:
            continue
        (tmp_path / "m.om").write_bytes(data)
        each = ("info", "m.om") if seed % 2 else ("run", "m.om", "--random", "0")
        codes = {found.code for found in command(*each)}
        assert codes <= {NOT_OM, OM_MEMBER}, seed
        assert codes, seed


def test_compressed_members_are_refused(sound: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(sound)) as archive:
        comment = archive.comment
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members_of(sound).items():
            archive.writestr(name, data)
        archive.comment = comment
    assert refusal(tmp_path / "m.om", buffer.getvalue())[0] is OM_MEMBER


def _set(*path: str | int, to: object) -> Callable[[Any], None]:
    """Return a change of one place of a document."""

    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = to

    return change


FALSE_CLAIMS: dict[str, tuple[Callable[[Any], object], Code]] = {
    "newer version": (_set("format_version", to=99), OM_VERSION),
    "version beyond 64 bits": (_set("format_version", to=10**30), OM_VERSION),
    "other format": (_set("format", to="IMOD"), NOT_OM),
    "a billion positions": (_set("nodes", 0, "inputs", 0, to=10**9), OM_CONTENT),
    "a cycle": (lambda document: document["nodes"].reverse(), OM_CONTENT),
    "negative dims": (_set("tensors", 0, "shape", 0, to=-1), OM_CONTENT),
    "dims that overflow": (_set("tensors", 0, "shape", to=[2**62, 2**62]), OM_CONTENT),
    "dims beyond 64 bits": (_set("tensors", 0, "shape", 0, to=2**64), OM_CONTENT),
    "too many axes": (_set("tensors", 0, "shape", to=[1] * 1000), OM_CONTENT),
    "unknown dtype": (_set("tensors", 0, "dtype", to="float13"), OM_CONTENT),
    "unknown format": (_set("tensors", 0, "format", to="NCHW\x1b[2J"), OM_CONTENT),
    "unknown engine": (_set("nodes", 0, "engine", to="gpu"), OM_CONTENT),
    "text for a number": (_set("nodes", 0, "scope", to="1"), OM_CONTENT),
    "unknown key": (_set("nodes", 0, "exec", to="rm"), OM_CONTENT),
    "no outputs of a node": (_set("nodes", 0, "outputs", to=[]), OM_CONTENT),
    "offset past the arena": (_set("memory", "places", to=None), OM_CONTENT),
    "arena of a petabyte": (_set("memory", "arena", to=2**50), OM_PLAN),
    "odd alignment": (_set("memory", "alignment", to=3), OM_PLAN),
    "not a number": (_set("memory", "arena", to=float("nan")), OM_CONTENT),
}


@pytest.mark.parametrize("claim", FALSE_CLAIMS)
def test_false_claims_of_the_description_are_refused(
    sound: bytes, tmp_path: Path, claim: str
) -> None:
    change, code = FALSE_CLAIMS[claim]
    assert refusal(tmp_path / "m.om", described(sound, change))[0] is code


def test_offsets_past_the_arena_are_refused(sound: bytes, tmp_path: Path) -> None:
    def change(document: Any) -> None:
        places = document["memory"]["places"]
        at = next(at for at, place in enumerate(places) if isinstance(place, int))
        places[at] = 1 << 40

    assert refusal(tmp_path / "m.om", described(sound, change))[0] is OM_PLAN


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_set("nodes", 0, "op", to="Conv99"), "no operator"),
        (_set("nodes", 0, "attributes", "strides", to="x"), "strides"),
        (_set("nodes", 0, "attributes", "strides", to=[0, 0, 0, 0]), "strides"),
        (_set("nodes", 0, "attributes", "strides", to=[2**70, 1, 1, 1]), ""),
        (_set("nodes", 0, "attributes", "groups", to=10**30), ""),
        (_set("nodes", 0, "attributes", "groups", to=0), ""),
        (_set("nodes", 0, "attributes", "other", to=1), "no attribute other"),
        (_set("nodes", 0, "inputs", to=[]), "absent"),
    ],
)  # fmt: skip
def test_nodes_that_no_kernel_takes_are_refused_before_they_run(
    sound: bytes, tmp_path: Path, change: Callable[[Any], object], said: str
) -> None:
    def on_conv(document: Any) -> None:
        nodes = document["nodes"]
        at = next(at for at, node in enumerate(nodes) if node["op"] == "Conv2D")
        change({**document, "nodes": nodes[at:]})

    (tmp_path / "m.om").write_bytes(described(sound, on_conv))
    found = command("run", str(tmp_path / "m.om"), "--random", "0")
    assert {each.code for each in found} == {OM_CONTENT}
    assert said in found[0].message


@pytest.mark.parametrize("text", [b"[" * 200_000, b'{"a":' * 200_000, b"", b"\xff", b"null"])
def test_documents_that_are_not_description_are_refused(
    sound: bytes, tmp_path: Path, text: bytes
) -> None:
    members = {**members_of(sound), "model.json": text}
    assert refusal(tmp_path / "m.om", sealed(members, relist=False))[0] is OM_CONTENT
    members = {**members_of(sound), "report.json": text}
    assert refusal(tmp_path / "m.om", sealed(members))[0] is OM_CONTENT


@pytest.mark.parametrize(("depth", "refused"), [(62, False), (65, True), (940, True)])
@pytest.mark.parametrize(
    ("name", "each"),
    [
        ("report.json", ("info", "--json")),
        ("kernels/kernels.json", ("kernels", "--format", "json")),
    ],
)
def test_documents_that_are_nested_deeply_are_refused(
    sound: bytes, tmp_path: Path, name: str, each: tuple[str, ...], depth: int, *, refused: bool
) -> None:
    members = members_of(sound)
    deep = b"[" * depth + b"]" * depth
    members[name] = members[name].strip()[:-1] + b',"deep":' + deep + b"}"
    (tmp_path / "m.om").write_bytes(sealed(members))
    codes = [found.code for found in command(*each, str(tmp_path / "m.om"))]
    assert codes == ([OM_CONTENT] if refused else [])


@pytest.mark.parametrize("name", ["model.json", "report.json", "kernels/kernels.json"])
def test_giant_documents_are_refused_unread(
    sound: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    members = members_of(sound)
    members[name] += b" " * 1_000_000
    most = len(members[name]) - 1
    monkeypatch.setattr(content, "_LARGEST_TEXT", most)
    code, message = refusal(tmp_path / "m.om", sealed(members, relist=False))
    assert code is OM_CONTENT
    assert f"{name!r} must have at most {most} bytes" in message


def test_attributes_nested_deeply_are_refused(sound: bytes, tmp_path: Path) -> None:
    members = members_of(sound)
    deep = b'"attributes":{"deep":' + b"[" * 100_000 + b"]" * 100_000 + b","
    text = members["model.json"].replace(b'"attributes":{', deep, 1)
    data = sealed({**members, "model.json": text}, relist=False)
    assert refusal(tmp_path / "m.om", data)[0] is OM_CONTENT


@pytest.mark.parametrize(
    "change",
    [
        _set("kernels", 0, "name", to="../../evil"),
        _set("kernels", 0, "name", to='a"\n#include "/etc/passwd'),
        _set("kernels", 0, "rows", 0, "nodes", to=[]),
        _set("kernels", 0, "rows", 0, "buffers", to=[{"name": "a", "storage": "x", "bytes": 1}]),
        _set("kernels", 0, "rows", 0, "read_bytes", to="many"),
        _set("kernels", 0, "rows", 0, "written_bytes", to=2**60),
        _set("kernels", 0, "rows", to={}),
        _set("buffers", "ub", to=0),
        _set("buffers", to=[]),
        _set("kernels", to=None),
    ],
)
def test_list_of_kernels_that_does_not_follow_its_schema_is_refused(
    sound: bytes, tmp_path: Path, change: Callable[[Any], object]
) -> None:
    (tmp_path / "m.om").write_bytes(described(sound, change, "kernels/kernels.json"))
    (found,) = command("kernels", str(tmp_path / "m.om"))
    assert found.code is OM_CONTENT


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_set("kernels", 0, "rows", 0, "nodes", 0, to="nobody"), "'nobody'"),
        (_set("kernels", 0, "links", to=[{"op": "Relu", "numbers": "exact", "reads": []}] * 9), "9 links"),
        (_set("kernels", 0, "outputs", to=[]), "0 results"),
    ],
)  # fmt: skip
def test_kernels_that_do_not_fit_the_model_are_not_verified(
    sound: bytes, tmp_path: Path, change: Callable[[Any], object], said: str
) -> None:
    (tmp_path / "m.om").write_bytes(described(sound, change, "kernels/kernels.json"))
    (found,) = command("kernels", "--verify", "--trust", str(tmp_path / "m.om"))
    assert found.code is OM_CONTENT
    assert said in found.message


def test_kernels_of_a_file_are_built_only_where_it_is_trusted(sound: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.om").write_bytes(sound)
    (found,) = command("kernels", "--verify", str(tmp_path / "m.om"))
    assert found.code is NOT_TRUSTED
    assert "--trust" in str(found.help)


@pytest.mark.parametrize(
    "change",
    [
        _set("precision", "nodes", to=1),
        _set("precision", "nodes", 0, "origin", to=[]),
        _set("precision", "nodes", 0, "name", to=None),
        _set("precision", "casts", to=[{}]),
        _set("precision", to=[]),
    ],
)
def test_record_of_precision_that_does_not_follow_its_schema_is_refused(
    sound: bytes, tmp_path: Path, change: Callable[[Any], object]
) -> None:
    (tmp_path / "m.om").write_bytes(described(sound, change, "report.json"))
    (found,) = command("info", "--precision", str(tmp_path / "m.om"))
    assert found.code is OM_CONTENT


def test_launches_of_very_many_nodes_are_refused(sound: bytes, tmp_path: Path) -> None:
    def change(document: Any) -> None:
        document["nodes"] = [{**document["nodes"][-1], "scope": 1} for _ in range(257)]

    code, message = refusal(tmp_path / "m.om", described(sound, change))
    assert code is OM_CONTENT
    assert "at most 256 nodes; 257 have the scope 1" in message


@pytest.mark.parametrize("many", [1, 3000])
def test_proof_of_wide_nodes_takes_few_steps(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check nodes that read and write thousands of tensors, each able to take any's place."""
    tensors = [PlacedTensor("x", (1,), 4, 64 * at) for at in range(2 * many)]
    reads, writes = tuple(range(many)), tuple(range(many, 2 * many))
    nodes = [PlacedNode("a", (), reads, 0), PlacedNode("b", reads, writes, 0, in_place=True)]
    steps = 0
    may_take_over = placement_proof._Sweep._may_reuse

    def counted(*args: Any) -> bool:
        nonlocal steps
        steps += 1
        return may_take_over(*args)

    monkeypatch.setattr(placement_proof._Sweep, "_may_reuse", counted)
    placement_proof.prove(Placement(tensors, nodes, 64, 128 * many, 64 * many))
    assert steps <= 4 * many


def test_dtype_that_no_depth_fits_is_refused_before_the_run_knows_it(tmp_path: Path) -> None:
    inputs = [
        helper.make_tensor_value_info("i", TensorProto.INT32, [3]),
        helper.make_tensor_value_info("depth", TensorProto.INT32, [1]),
        helper.make_tensor_value_info("v", TensorProto.INT32, [2]),
    ]
    node = helper.make_node("OneHot", ["i", "depth", "v"], ["y"])
    y = helper.make_tensor_value_info("y", TensorProto.INT32, [3, None])
    graph = helper.make_graph([node], "net", inputs, [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=7)
    onnx.save(model, tmp_path / "m.onnx")
    convert(tmp_path / "m.onnx", tmp_path / "m.om")
    sound = (tmp_path / "m.om").read_bytes()
    (tmp_path / "m.om").write_bytes(described(sound, _set("tensors", 0, "dtype", to="bool")))
    for device in ("sim", "ort"):
        (found,) = command("run", str(tmp_path / "m.om"), "--seed", "1", "--device", device)
        assert found.code.id == "ATC5004"
        assert found.message == "indices must be integers, found bool 3"


def test_axis_that_the_rank_lacks_is_refused_although_dims_are_open(tmp_path: Path) -> None:
    node = helper.make_node("Softmax", ["x"], ["y"], axis=1)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 4, 5]) for name in "xy")
    graph = helper.make_graph([node], "net", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    onnx.save(model, tmp_path / "m.onnx")
    convert(tmp_path / "m.onnx", tmp_path / "m.om")

    def change(document: Any) -> None:
        (softmax,) = (each for each in document["nodes"] if each["op"] == "SoftmaxV2")
        softmax["attributes"]["axes"] = [3]
        document["tensors"][softmax["inputs"][0]]["shape"] = [3, None, 5]
        document["memory"] = None

    (tmp_path / "m.om").write_bytes(described((tmp_path / "m.om").read_bytes(), change))
    for device in ("sim", "ort"):
        found = command("run", str(tmp_path / "m.om"), "--seed", "1", "--device", device)
        assert ("ATC5004", "axis must be in [-3, 2], found 3") in {
            (each.code.id, str(each.message)) for each in found
        }
