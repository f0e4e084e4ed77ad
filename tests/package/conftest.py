"""Graphs to package, packages to open, and archives that are sound but say something wrong."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
import pytest

from atc_py.ir import AttrValue, DenseConst, Engine, Graph, Origin, SplatConst, TensorType
from atc_py.package.archive import ArchiveWriter
from atc_py.package.reader import open_model
from atc_py.package.schema import PackageContents
from atc_py.package.writer import write_model
from atc_py.tensor.dtypes import DType, Format


class Seal(Protocol):
    """Changes a document and makes an archive of it whose digests are all right."""

    def __call__(
        self,
        change: Mapping[str, object] | None = None,
        *,
        document: bytes | None = None,
        extra: Mapping[str, bytes] | None = None,
        leave_out: str = "",
    ) -> Path: ...


@pytest.fixture
def contents() -> PackageContents:
    """Return kernels, a report and options."""
    return PackageContents(
        producer="atc-py 0.0",
        soc="sim",
        options={"precision_mode": "force_fp16", "a": "1"},
        kernels={"conv/k_1.cpp": "// äöü\n", "add.cpp": "// add\n"},
        kernel_of={"Add:y": "add"},
        report={"nodes": 2, "findings": [{"code": "ATC4012"}], "ratio": 0.5},
    )


@pytest.fixture
def graph() -> Graph:
    """Return two nodes, two constants, an absent input, every kind of attribute, two outputs."""
    graph = Graph("net")
    kind = TensorType(DType.FLOAT16, (2, 3), Format.NCHW)
    x = graph.add_input("x", kind)
    weight = graph.constant("w", DenseConst(np.arange(6, dtype=np.float16).reshape(2, 3)))
    ones = graph.constant("ones", SplatConst(1.0, DType.FLOAT16, (2, 3)), like=kind)
    attributes: dict[str, AttrValue] = {
        "flag": True,
        "count": 3,
        "alpha": 1.0,
        "low": float("-inf"),
        "mode": "edge",
        "dst_type": DType.BFLOAT16,
        "ints": (1, 2),
        "floats": (1.0, float("inf"), float("nan")),
        "none": (),
    }
    origins = [Origin(0, "n0", "Conv"), Origin(1, "", "Relu")]
    first = graph.add_node("Mul", [x, None, weight], [("h", kind)], attributes, origins)
    second = graph.add_node("Add", [first.output, ones], [("y", kind)])
    first.engine, second.engine = Engine.AICPU, Engine.AICORE
    graph.add_output(second.output, "result")
    graph.add_output(first.output)
    return graph


@pytest.fixture
def om(graph: Graph, contents: PackageContents, tmp_path: Path) -> Path:
    """Return a sound offline model."""
    return write_model(graph, tmp_path / "model.om", contents).path


@pytest.fixture
def seal(om: Path, tmp_path: Path) -> Seal:
    """See `Seal`."""
    with open_model(om) as model:
        texts = {name: _data(om, name) for name in model.members if name != "model.json"}
        described: dict[str, Any] = msgspec.json.decode(_data(om, "model.json"))

    def make(
        change: Mapping[str, object] | None = None,
        *,
        document: bytes | None = None,
        extra: Mapping[str, bytes] | None = None,
        leave_out: str = "",
    ) -> Path:
        path = tmp_path / "sealed.om"
        members = {name: data for name, data in texts.items() if name != leave_out}
        with path.open("wb") as file:
            archive = ArchiveWriter(file)
            for name, data in {**members, **(extra or {})}.items():
                archive.add_bytes(name, data)
            listed = {**described, "members": dict(archive.members), **(change or {})}
            encoded = msgspec.json.encode(listed) if document is None else document
            archive.finish(archive.add_bytes("model.json", encoded).sha256)
        return path

    return make


def _data(path: Path, name: str) -> bytes:
    """Return a member as another program reads it."""
    import zipfile

    with zipfile.ZipFile(path) as archive:
        return archive.read(name)
