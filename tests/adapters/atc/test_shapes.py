"""--input_shape and its relatives, names of offline models, and --raw_ge_options."""

import json
from pathlib import Path

import pytest

from atc_py.adapters.atc.paths import made_folder, offline_model
from atc_py.adapters.atc.raw_options import with_raw_options
from atc_py.adapters.atc.shapes import check_hint, has_open_dims, input_shape_text
from atc_py.adapters.atc.tokens import Flags
from atc_py.diag import AtcError
from tests.failures import in_one_item


def code_of(error: AtcError) -> str:
    """Return atc's code of the first finding."""
    fault = error.diagnostics[0].atc
    assert fault is not None
    return fault.code


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("", ""),
        ("x:1,3", "x:1,3"),
        (" x : 1 , 3 ", "x:1,3"),
        ("x:1;y:2,4;", "x:1;y:2,4"),
        ("s:;x:1", "s:;x:1"),
        ("input:0:1,3", "input:0:1,3"),
        ("x:-1,3", "x:-1,3"),
        ("x:-7,3;y:-1", "x:-1,3;y:-1"),
        ("x:1~8,3", "x:1~8,3"),
        ("x:8~1", "x:8~1"),
    ],
)
def test_shapes_are_read(given: str, text: str) -> None:
    assert input_shape_text(Flags({"input_shape": given})) == text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("x:[1~8,3,-1]", "x:1~8,3,-1"),
        ("x:[];y:[5]", "x:;y:5"),
        (" x : [ 1 ~ 8 , 3 ] ", None),
        ("x:1~8", None),
        ("x:[[1]]", None),
        ("x:[1]2", None),
        ("[1~2,3]", None),
        ("x:[1~-1]", None),
        (":[1]", None),
    ],
)
def test_ranges_in_brackets_become_shapes(given: str, text: str | None) -> None:
    flags = Flags({"input_shape_range": given, "input_shape": "z:1"})
    if text is not None:
        assert input_shape_text(flags) == text
        return
    with pytest.raises(AtcError) as caught:
        input_shape_text(flags)
    assert code_of(caught.value) == ("E10055" if ":" not in given else "E10048")


@in_one_item(
    ("given", "code"),
    [
        ("x", "E10002"),
        (":1", "E10002"),
        ("x:1;2", "E10002"),
        ("x:1.5", "E10002"),
        ("x:+1", "E10002"),
        ("x:\uff11", "E10002"),
        ("x:-", "E10002"),
        ("x:0", "E10011"),
        ("x:-0", "E10011"),
        ("x:-5", "E10011"),
        ("x:2147483648", "E10013"),
        ("x:1,-1,a", "E10002"),
        ("x:1~2~3,-1", "E10048"),
        ("x:1-20,-1", "E10048"),
        ("-1,2;3", "E10055"),
    ],
)
def test_other_shapes_are_refused(given: str, code: str) -> None:
    with pytest.raises(AtcError) as caught:
        input_shape_text(Flags({"input_shape": given}))
    assert code_of(caught.value) == code


@pytest.mark.parametrize(
    ("hint", "code"),
    [
        ("0:[1,3,4,4]", ""),
        ("0:[1, 3];12:[4]", ""),
        ("0:[1,3];", "E10014"),
        ("x:[1]", "E10014"),
        ("0:1", "E10014"),
        ("0:[]", "E10014"),
    ],
)
def test_form_of_hints_is_checked(hint: str, code: str) -> None:
    flags = Flags({"input_hint_shape": hint})
    if not code:
        check_hint(flags)
        return
    with pytest.raises(AtcError) as caught:
        check_hint(flags)
    assert code_of(caught.value) == code


@pytest.mark.parametrize(
    ("given", "is_open"),
    [
        ({"input_shape": "x:1,3"}, False),
        ({"input_shape": "x:-1,3"}, True),
        ({"input_shape": "x:1~2,3"}, True),
        ({"input_shape_range": "x:[-1]"}, True),
        ({"input_shape_range": "x:[1]", "input_shape": "x:-1"}, False),
        ({"input_shape": "x:-1,3", "dynamic_batch_size": "1,2"}, False),
    ],
)
def test_open_dims_are_seen(given: dict[str, str], is_open: bool) -> None:
    assert has_open_dims(Flags(given)) is is_open


@pytest.mark.parametrize(
    ("output", "is_open", "name"),
    [
        ("o", False, "o.om"),
        ("o.om", False, "o.om.om"),
        ("d.om/o", False, "d.om/o.om"),
        ("o", True, "o_minios_arm.om"),
        ("o.om", True, "o_minios_arm.om.om"),
        ("d.om/o", True, "d.om/o_minios_arm.om"),
        ("o.omx", True, "o_minios_arm.omx.om"),
    ],
)
def test_name_of_the_offline_model(output: str, is_open: bool, name: str) -> None:
    flags = Flags({"output": output, "host_env_os": "minios", "host_env_cpu": "arm"})
    assert offline_model(flags, is_open=is_open).as_posix() == name


def test_folder_that_was_made_goes_with_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "o.om"

    def fail() -> None:
        with made_folder(path):
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fail()
    assert not (tmp_path / "a").exists()
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "kept").touch()
    with pytest.raises(ValueError, match=r"^$"):
        fail()
    assert [each.name for each in (tmp_path / "a").iterdir()] == ["kept"]
    with made_folder(path):
        path.touch()
    assert path.exists()


@pytest.mark.parametrize(
    ("text", "ignored", "code"),
    [
        ('{"compile options": {}}', False, ""),
        ('{"compile options": {"global": {}, "session": {}, "graph": {}}}', False, ""),
        ('{"compile options": {"graph": {"ge.a": "1"}}}', True, ""),
        ('{"compile options": {"graph": {"ge.a": "1"}}}', False, "E10055"),
        ('{"compile options": {"graph": {"ge.socVersion": "1"}}}', True, "E10001"),
        ('{"compile options": {"graph": {"ge.jit_compile": "9"}}}', True, "E10001"),
        ('{"compile options": {"graph": {"ge.jit_compile": 1}}}', True, "E10032"),
        ('{"compile options": {"level": {}}}', False, "E10032"),
        ('{"compile options": {"graph": []}}', False, "E10032"),
        ('{"compile options": []}', False, "E10032"),
        ("{}", False, "E10032"),
        ("1", False, "E10032"),
        ("{", False, "E10032"),
        ("[" * 100_000, False, "E10032"),
        ("\udcff", False, "E13001"),
    ],
)
def test_raw_options(text: str, ignored: bool, code: str, tmp_path: Path) -> None:
    path = tmp_path / "raw.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    ignores = {"raw_ge_options_ignore_unsupported": "true"} if ignored else {}
    flags = Flags({"raw_ge_options": str(path), **ignores})
    if not code:
        with_raw_options(flags)
        return
    with pytest.raises(AtcError) as caught:
        with_raw_options(flags)
    assert code_of(caught.value) == code


def test_raw_options_give_way_to_the_command_line_and_to_later_levels(tmp_path: Path) -> None:
    path = tmp_path / "raw.json"
    graph = {"ge.exec.precision_mode": "force_fp16", "ge.bufferOptimize": "off_optimize"}
    levels = {"graph": graph, "global": {"ge.bufferOptimize": "l1_optimize", "log": "info"}}
    path.write_text(json.dumps({"compile options": levels}))
    given = {"raw_ge_options": str(path), "precision_mode": "must_keep_origin_dtype"}
    assert with_raw_options(Flags(given)).given == {
        **given,
        "buffer_optimize": "off_optimize",
        "log": "info",
    }
