"""The page of a profile: what is in it."""

import html
import json
from html.parser import HTMLParser

import onnx
import pytest

from atc_py.cost.factors import EXPECTED
from atc_py.pipeline.onnx_facts import compiled_file_graph
from atc_py.pipeline.profile import profile_model
from atc_py.report.profile.formats import profile_html
from atc_py.results.compiled_model import CompiledModel
from tests.cost.small_networks import chain
from tests.report.page_document import document_of

NASTY = "a<script>alert(1)</script>\u202e"


class Tags(HTMLParser):
    """Opened elements and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember one."""
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the page of a model with a nasty name, on two SoCs."""
    model = chain()
    model.graph.node[0].name = NASTY
    path = tmp_path_factory.mktemp("page") / "net.onnx"
    onnx.save(model, path)
    compiled: list[CompiledModel] = []
    found = profile_model(path, ["sim", "Ascend910B4"], compiled=compiled)
    return profile_html(found, compiled_file_graph(path, compiled[0]), compiled[0])


def test_page_has_kernels_roofs_and_memory_of_each_soc(page: str) -> None:
    (model,) = document_of(page)["models"]
    socs = model["time"]["socs"]
    assert [each["soc"] for each in socs] == ["sim", "Ascend910B4"]
    for each in socs:
        assert len(each["kernels"]) == len(each["memory"]["results"]) > 0
        assert {"cube", "vector", "memory"} <= {*each["roofs"]}
        assert each["time"] == sorted(each["time"])
        assert sum(kernel[7] for kernel in each["kernels"]) == pytest.approx(
            each["time"][1] - EXPECTED.factors.run
        )
    assert model["wins"]


def test_kernels_name_nodes_of_the_graph(page: str) -> None:
    (model,) = document_of(page)["models"]
    nodes = [row[0] for row in model["compiled"]["nodes"]]
    assert {row[0] for row in model["time"]["socs"][0]["kernels"]} <= {*nodes}
    assert [row[1] for row in model["source"]["nodes"]] == [
        NASTY.replace("\u202e", "\\u202e"),
        "act",
    ]
    positions = {each for row in model["compiled"]["nodes"] for each in row[7]}
    assert positions == {0, 1}


def test_page_loads_nothing_and_runs_only_its_own_scripts(page: str) -> None:
    tags = Tags()
    tags.feed(page)
    names = [name for name, _ in tags.found]
    assert names.count("script") == 3
    assert not {"link", "img", "iframe", "object"} & set(names)
    assert not any(set(attrs) & {"src", "onclick", "style"} for _, attrs in tags.found)
    assert "default-src 'none'" in html.unescape(page)
    assert "\u202e" not in page
    assert "<script>alert" not in page
    assert "alert(1)" in json.dumps(document_of(page))
