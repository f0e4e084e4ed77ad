"""Fields of options structs as options: keywords, commands and atc's spellings follow from them."""

from pathlib import Path
from typing import Any

import click
import pytest

from atc_py.adapters.atc.options import FIELDS, OPTIONS
from atc_py.cli.convert import convert
from atc_py.diag import BAD_OPTION, AtcError
from atc_py.options.command_options import COMPARED, NOT_COMPARED, FixOptions, SearchOptions
from atc_py.options.compile_options import CompileOptions, PrecisionMode, QuantBias
from atc_py.options.keywords import CompareKeywords, ConvertKeywords
from atc_py.options.option import keywords_of, options_in, parse_options

FILES = {"soc", "input_shape", "kernels", "templates", "op_specs"}
"""Parameters of functions that are no keywords of the TypedDicts."""


def parsed(**keywords: Any) -> CompileOptions:
    """Return the options of keywords of `convert`."""
    return parse_options("convert", CompileOptions, keywords)


def test_command_has_each_field_with_its_spellings_and_help() -> None:
    options = {each.name: each for each in convert.params if isinstance(each, click.Option)}
    flagged = [option for _, option in options_in(CompileOptions) if option.flags]
    assert len(flagged) > 30
    for option in flagged:
        command = options[option.keyword]
        spelled = [*command.opts, *command.secondary_opts]
        former = option.old.split()
        known = [each for text in option.spellings for each in text.split("/")]
        assert sorted(spelled) == sorted([*known, *former])
        assert command.help == option.help


def test_keywords_are_those_of_the_fields() -> None:
    assert ConvertKeywords.__annotations__.keys() == keywords_of(CompileOptions) - FILES
    compared = keywords_of(CompileOptions) - NOT_COMPARED | keywords_of(SearchOptions)
    assert CompareKeywords.__annotations__.keys() == compared - FILES
    assert {"precision_mode", "only", "dims", "aipp"} < COMPARED


def test_values_of_keywords_become_those_of_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parsed() == CompileOptions()
    done = parsed(
        disable_pass=["a", "a"], aipp="x.cfg", quant_bias="folded", fix={"only": iter(["r"])},
        input_shape={"x": [1, -1]}, precision_mode_v2="origin", unknown=1,
    )  # fmt: skip
    assert done.disable_pass == {"a"}
    assert done.aipp == Path("x.cfg")
    assert done.precision.quant_bias is QuantBias.FOLDED
    assert done.precision_mode is PrecisionMode.MUST_KEEP_ORIGIN_DTYPE
    assert done.fix is not None
    assert done.fix.only == {"r"}
    assert (list(done.ranges), done.input_shapes) == (["x"], {})
    monkeypatch.setenv("ATC_PY_LIST", "base")
    assert parsed().precision.operator_list == "base"
    assert parsed(operator_list="cann-9.0").precision.operator_list == "cann-9.0"


def test_structs_within_structs_take_the_same_keywords() -> None:
    done = parse_options("fix_model", FixOptions, {"skip": ["a"], "cann": 7, "seeds": 0}, soc="x")
    assert done.rules.skip == {"a"}
    assert (done.check.precision.cann, done.seeds, done.check.soc) == ("7", 0, "x")


def test_unknown_rule_names_the_function() -> None:
    with pytest.raises(TypeError, match=r"convert\(fix=\.\.\.\)\(\) got .*'onyl'.*'only'"):
        parsed(fix={"onyl": []})


def test_atc_has_the_spelling_and_the_values_of_the_field() -> None:
    assert FIELDS.keys() <= OPTIONS.keys()
    mode = OPTIONS["precision_mode"]
    assert mode.values == tuple(each.value for each in PrecisionMode)
    assert (OPTIONS["insert_op_conf"].keyword, OPTIONS["soc_version"].keyword) == ("aipp", "soc")


@pytest.mark.parametrize(
    ("keyword", "value", "words"),
    [
        ("fix", True, "convert(fix=...) takes RuleKeywords | None, found bool"),
        ("allow_hf32", "yes", "convert(allow_hf32=...) takes bool | None, found str"),
        ("verify", 1, "convert(verify=...) takes bool, found int"),
        ("verify", [True], "convert(verify=...) takes bool, found list"),
        ("soc", 310, "convert(soc=...) takes str, found int"),
        ("kernels", 1.5, "convert(kernels=...) takes str | os.PathLike[str] | None, found float"),
        ("disable_pass", "a", "convert(disable_pass=...) takes Iterable[str], found str"),
        ("batch_sizes", 4, "convert(batch_sizes=...) takes str | Iterable[int], found int"),
        (
            "input_shape",
            224,
            "convert(input_shape=...) takes str | Mapping[str, Sequence[int]], found int",
        ),
    ],
)
def test_values_of_other_types_are_refused(keyword: str, value: object, words: str) -> None:
    with pytest.raises(AtcError) as caught:
        parsed(**{keyword: value})
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == (BAD_OPTION, words)
