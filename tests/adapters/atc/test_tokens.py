"""The words of a command line, as atc reads them."""

import pytest

from atc_py.adapters.atc.options import OPTIONS, ValueKind
from atc_py.adapters.atc.tokens import UnreadableLineError, normal_word, parse_line
from atc_py.diag import AtcError
from tests.failures import in_one_item


@in_one_item(
    ("word", "normal"),
    [
        ("-soc_version=X", "--soc_version=X"),
        ("--soc-version=X", "--soc_version=X"),
        ("-soc-version", "--soc_version"),
        ("--input-shape=a-b:1", "--input_shape=a-b:1"),
        ("--out-nodes=a-b-c", "--out_nodes=a-b-c"),
        ("--a-b", "--a-b"),
        ("--ab-c", "--ab_c"),
        ("-h", "-h"),
        ("-1,3", "-1,3"),
        ("-", "-"),
        ("--", "--"),
        ("x-y-z", "x-y-z"),
        ("-ab-cd", "--ab_cd"),
    ],
)
def test_word_gets_its_dashes_as_in_atc(word: str, normal: str) -> None:
    assert normal_word(word) == normal


@in_one_item(
    ("words", "given"),
    [
        (["--model=a"], {"model": "a"}),
        (["--model", "a"], {"model": "a"}),
        (["--model", "-ab-cd"], {"model": "--ab_cd"}),
        (["--model", "--output=b"], {"model": "--output=b"}),
        (["--model=a=b"], {"model": "a=b"}),
        (["--model="], {"model": ""}),
        (["--model=a", "--model=b"], {"model": "b"}),
        (["--mod=a"], {}),
        (["--soc=a"], {"soc_version": "a"}),
        (["--mode=0"], {"mode": "0"}),
        (["--om=a"], {"om": "a"}),
        (["--raw_ge_options_ignore_unsupported"], {"raw_ge_options_ignore_unsupported": "true"}),
        (["--raw_ge_options_ignore_unsupported=N"], {"raw_ge_options_ignore_unsupported": "false"}),
        (["--help"], {"help": "true"}),
        (["-h"], {"help": "true"}),
        (["--h=0", "--om=x"], {"h": "false", "om": "x"}),
    ],
)
def test_options_are_taken(words: list[str], given: dict[str, str]) -> None:
    if not given:
        with pytest.raises(UnreadableLineError):
            parse_line(words)
    else:
        assert parse_line(words).given == given


def test_exact_name_counts_before_longer_ones() -> None:
    assert parse_line(["--precision_mode=force_fp16"]).given == {"precision_mode": "force_fp16"}
    assert parse_line(["--precision_mode_=fp16"]).given == {"precision_mode_v2": "fp16"}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--nothing=1"], "ERROR: unknown command line flag 'nothing'"),
        (["--input_s=1"], "ERROR: unknown command line flag 'input_s'"),
        (["--=1"], "ERROR: unknown command line flag ''"),
        (["-z"], "ERROR: unknown command line flag 'z'"),
        (["--model"], "ERROR: flag '--model' is missing its argument; flag description: "),
        (["a"], "ERROR: Non-option parameter: a"),
        (["--", "--model=a"], "ERROR: Non-option parameter: --model=a"),
        (["-"], "ERROR: Non-option parameter: -"),
        ([""], "ERROR: Non-option parameter: "),
    ],
)
def test_unreadable_words_are_named(words: list[str], line: str) -> None:
    with pytest.raises(UnreadableLineError) as caught:
        parse_line(words)
    assert caught.value.line.startswith(line)


@in_one_item("name", [name for name, row in OPTIONS.items() if row.code])
def test_value_outside_of_its_list_is_refused(name: str) -> None:
    option = OPTIONS[name]
    for value in (*option.values, option.values[0].upper() + "x"):
        if option.late or value in option.values:
            assert parse_line([f"--{name}={value}"])[name] == value
            continue
        with pytest.raises(AtcError) as caught:
            parse_line([f"--{name}={value}"])
        fault = caught.value.diagnostics[0].atc
        assert fault is not None
        assert fault.code == option.code


def test_every_prefix_finds_one_option_or_none() -> None:
    for name in OPTIONS:
        for end in range(1, len(name)):
            prefix = name[:end]
            matching = [each for each in OPTIONS if each.startswith(prefix)]
            if prefix in OPTIONS or prefix == "h":
                continue
            switch = len(matching) == 1 and OPTIONS[matching[0]].kind is ValueKind.SWITCH
            words = [f"--{prefix}"] if switch else [f"--{prefix}", ""]
            try:
                found = parse_line(words)
            except UnreadableLineError:
                assert len(matching) > 1
            except AtcError:
                assert len(matching) == 1
            else:
                assert [*found.given] == matching
