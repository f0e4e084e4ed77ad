"""Chinese of the words of rules and of what they require: none is missing, none is left over."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import atc_py.fix
from atc_py.fix.registry import load_rules
from atc_py.fix.unfit import _catalog

FOLDER = Path(atc_py.fix.__file__).parent
CARRIERS = {"UnfitError", "require", "words"}
"""Functions whose text is a template."""

OPERATORS_ALONE = re.compile(r"|\d*[A-Z][A-Za-z0-9]*")
"""Texts that read the same in both languages: one operator, or no word."""


def rule_words() -> Iterator[str]:
    """Yield the words of all rules."""
    for rule in load_rules().values():
        text = rule.text
        yield from (words.en for words in (text.before, text.after, text.condition, text.float16))


def strings() -> Iterator[tuple[ast.Call | None, str]]:
    """Yield every string of the package, with the call of a carrier that it is given to."""
    for path in sorted(FOLDER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield None, node.value
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in CARRIERS:
                given = [*node.args, *(word.value for word in node.keywords)]
                texts = (text for text in given if isinstance(text, ast.Constant))
                yield from ((node, text.value) for text in texts if isinstance(text.value, str))


def test_no_words_lack_their_chinese() -> None:
    templates = {*rule_words(), *(text for call, text in strings() if call is not None)}
    lacking = {
        text for text in templates - _catalog().keys() if not OPERATORS_ALONE.fullmatch(text)
    }
    assert not lacking, f"add their Chinese to atc_py/diag/chinese/fix_rules.po: {sorted(lacking)}"


def test_no_chinese_is_left_over() -> None:
    known = {*rule_words(), *(text for _, text in strings())}
    left = sorted(_catalog().keys() - known)
    assert not left, f"no code has these any more, take them from the catalog: {left}"


def test_no_chinese_stands_in_the_code() -> None:
    found = [
        path for path in FOLDER.rglob("*.py") if re.search("[\u4e00-\u9fff]", path.read_text())
    ]
    assert not found, f"words belong in atc_py/diag/chinese/fix_rules.po: {found}"


def test_chinese_has_the_places_of_the_english() -> None:
    """It may leave the name of a tensor out, and has no other place."""
    place = re.compile(r"\{(\w+)")
    for english, chinese in _catalog().items():
        assert set(place.findall(chinese)) <= set(place.findall(english)), english
