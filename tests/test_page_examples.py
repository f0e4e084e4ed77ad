"""Pages of docs open with commands, which run and print what the pages show."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.example_shell import ran, working_in
from tests.page_examples import DOCS, PAGES, examples, make_models, renewed
from tests.test_readme import BLOCK, README, assert_shown


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the models of the README."""
    folder = tmp_path_factory.mktemp("models")
    make_models(folder)
    return folder


@pytest.fixture
def folder(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    shutil.copytree(models, tmp_path, dirs_exist_ok=True)
    with working_in(tmp_path, "en"):
        monkeypatch.delenv("COLUMNS")
        yield tmp_path


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.usefixtures("folder")
def test_page_opens_with_commands_that_print_what_it_shows(name: str) -> None:
    page = DOCS / f"{name}.md"
    first = next(BLOCK.finditer(page.read_text(encoding="utf-8")))
    assert first["kind"] == "console"
    assert page.read_text(encoding="utf-8")[: first.start()].count("\n") <= 8
    for line, shown in examples(page):
        status, output = ran(line)
        if shown:
            assert_shown(output, shown, line)
        else:
            assert status == 0, (line, output)


@pytest.mark.parametrize("page", sorted((DOCS / "zh").glob("*.md")), ids=lambda page: page.stem)
def test_chinese_page_shows_the_blocks_of_the_english_one(page: Path) -> None:
    english = README if page.stem == "README" else DOCS / page.name
    blocks = [block[0] for block in BLOCK.finditer(english.read_text(encoding="utf-8"))]
    shown = [block[0] for block in BLOCK.finditer(page.read_text(encoding="utf-8"))]
    assert [block for block in shown if block not in blocks] == []


def test_output_is_renewed_in_the_form_that_a_page_shows() -> None:
    output = "3 rows\n\nname  time\na     5 us\nb     6 us\nend\n"
    assert renewed("2 rows\n...\nb     7 us\n...\n", output) == "3 rows\n...\nb     6 us\n...\n"
    assert renewed("...\nends\n", output) == "...\nend\n"
