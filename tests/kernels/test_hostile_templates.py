"""A user's templates reach no file and no inner name, and what they take is bounded."""

import os
import shutil
from pathlib import Path

import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_TEMPLATE
from atc_py.kernels import rendering
from atc_py.kernels.ports import KernelPort
from atc_py.kernels.templating import render
from atc_py.system.cache_folders import templates_dir
from atc_py.system.worker import Worker
from atc_py.tensor.dtypes import DType

OWN = templates_dir() / "kernels"
X = KernelPort("x", 0, DType.FLOAT16, "ND", "half", "Eigen::half")


def rendered(folder: Path, text: str, **context: object) -> str:
    """Return the text that a user's template with that text renders to."""
    (folder / "t.j2").write_text(text, encoding="utf-8")
    return render((folder, OWN), "t.j2", context)


def refusal(folder: Path, text: str, **context: object) -> str:
    """Return the message with which a template is refused."""
    with pytest.raises(AtcError) as caught:
        rendered(folder, text, **context)
    (found,) = caught.value.diagnostics
    assert found.code is BAD_TEMPLATE
    assert found.place is not None
    assert found.help
    return found.message


def test_templates_of_a_user_render_as_they_would_in_this_process(tmp_path: Path) -> None:
    text = (
        "{% set ns = namespace(n=0) %}{% for i in range(3) %}{% set ns.n = ns.n + i %}{% endfor %}"
    )
    text += "{{ ns.n }} {{ 'tile_length' | camel }} {{ x.dtype.value }} {{ names | join(', ') }}\n"
    assert rendered(tmp_path, text, x=X, names=["a", "b"]) == "3 tileLength float16 a, b\n"


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ ''['__class__'] }}",
        "{{ '' | attr('__class__') }}",
        "{{ ''.__class__ }}",
        "{{ self.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os.system('id') }}",
        "{{ lipsum.__globals__ }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ '{0.__class__}'.format_map({'0': 1}) }}",
        "{{ x.dtype.__class__ }}",
        "{{ [x] | map(attribute='__class__') | join }}",
        "{% for c in ''.__class__.__base__.__subclasses__() %}{{ c }}{% endfor %}",
        "{{ render.__code__ }}",
        "{% set f = range.__init__ %}{{ f.__globals__ }}",
        "{{ (x.dtype.value ~ '').__reduce__() }}",
    ],
)
def test_inner_names_are_out_of_reach(tmp_path: Path, text: str) -> None:
    refusal(tmp_path, text, x=X)


def test_scalars_of_numpy_that_write_files_are_out_of_reach(tmp_path: Path) -> None:
    target = tmp_path / "written"
    text = f"{{{{ x.dtype.numpy.type(1).tofile('{target}') }}}}"
    message = refusal(tmp_path, text, x=X)
    assert "unsafe" in message
    assert not target.exists()


def test_classes_of_the_program_make_no_objects(tmp_path: Path) -> None:
    refusal(tmp_path, "{{ kind('x', 0, none, '', '', '') }}", kind=KernelPort)


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "..//secret", "a/../../secret", "", ".", "x\\n"]
)
def test_templates_outside_of_the_folder_are_out_of_reach(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    folder = tmp_path / "templates"
    folder.mkdir()
    refusal(folder, f"{{% include {name!r} %}}")


def test_links_that_lead_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "link.j2").symlink_to(tmp_path / "secret")
    assert "leads out of the folder" in refusal(folder, "{% include 'link.j2' %}")


def test_links_within_the_folder_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real.j2").write_text("real", encoding="utf-8")
    (tmp_path / "link.j2").symlink_to(tmp_path / "real.j2")
    assert rendered(tmp_path, "{% include 'link.j2' %}") == "real"


def test_pipes_are_not_templates(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.j2")
    assert "is not a file" in refusal(tmp_path, "{% include 'pipe.j2' %}")


def test_template_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.j2").write_bytes(b"caf\xe9")
    assert "'latin.j2' is not UTF-8" in refusal(tmp_path, "{% include 'latin.j2' %}")


def test_a_giant_template_is_refused(tmp_path: Path) -> None:
    assert "at most 1048576" in refusal(tmp_path, "x" * (1 << 20) + "x")


@pytest.mark.parametrize(
    "text",
    [
        "{% set n = range(99999) %}{% for a in n %}{% for b in n %}{% endfor %}{% endfor %}",
        "{{ 9 ** (9 ** 9) }}",
        "{% macro again() %}{% for i in range(9) %}{{ again() }}{% endfor %}{% endmacro %}{{ again() }}",
    ],
    ids=["loops", "power", "recursion"],
)
def test_templates_without_an_end_are_ended(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "SECONDS", 1)
    refusal(tmp_path, text)
    assert rendered(tmp_path, "{{ 1 + 1 }}") == "2"


@pytest.mark.parametrize(
    "text",
    [
        "{{ 'x' * 10 ** 12 }}",
        "{{ 'x'.center(10 ** 11) }}",
        "{{ '%0100000000000d' % 1 }}",
        "{{ '{:>100000000000}'.format(1) }}",
        "{% set ns = namespace(t='x') %}{% for i in range(60) %}{% set ns.t = ns.t ~ ns.t %}{% endfor %}",
        "{{ ('x' * 10 ** 6).replace('x', 'y' * 10 ** 6) }}",
        "{{ [0] * 10 ** 12 }}",
    ],
    ids=["product", "center", "percent", "format", "doubled", "replaced", "list"],
)
def test_memory_of_templates_is_bounded(tmp_path: Path, text: str) -> None:
    refusal(tmp_path, text)
    assert rendered(tmp_path, "{{ 1 + 1 }}") == "2"


def test_text_of_templates_is_bounded(tmp_path: Path) -> None:
    text = "{% for i in range(99999) %}" + "x" * 100 + "{% endfor %}"
    assert "more than 8388608 characters" in refusal(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    ["{% if " + "(" * 5000 + "1" + ")" * 5000 + " %}{% endif %}", "{{ " + "-" * 50000 + "1 }}"],
)
def test_deep_nesting_is_refused(tmp_path: Path, text: str) -> None:
    refusal(tmp_path, text)
    assert rendered(tmp_path, "{{ 1 + 1 }}") == "2"


def test_modules_in_the_current_folder_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "pickle", "jinja2", "atc_py"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    rendering._process().close()
    rendering._process.cache_clear()
    assert rendered(tmp_path, "{{ 1 + 1 }}") == "2"


def test_process_that_does_not_start_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(Worker, "start", refuse)
    message = refusal(tmp_path, "{{ 1 + 1 }}")
    assert message.endswith("its process does not start: Resource temporarily unavailable")


def test_own_templates_render_alike_in_the_sandbox(tmp_path: Path) -> None:
    folder = tmp_path / "templates"
    shutil.copytree(OWN, folder)
    context = {"soc": "sim", "kernels": [], "buffers": {}}
    name = "CMakeLists.txt.j2"
    assert render((folder, OWN), name, context) == render((OWN,), name, context)
