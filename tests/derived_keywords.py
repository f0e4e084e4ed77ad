"""`options/keywords.py`, derived from the structs of options; `make docs` writes it."""

import textwrap
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from atc_py.options.command_options import NOT_COMPARED, FixOptions, PlanOptions, SearchOptions
from atc_py.options.compile_options import CheckOptions, CompileOptions
from atc_py.options.fix_rules import FixRules
from atc_py.options.option import Option, OptionField, keyword_type, keywords_of, options_in
from atc_py.quantizing.options import QuantizeOptions

KEYWORDS = Path(__file__).resolve().parents[1] / "atc_py" / "options" / "keywords.py"

_PARAMETERS = {"soc", "input_shape", "op_specs", "kernels", "templates"}
"""Parameters that the functions which compile or check name and describe themselves."""

_HEAD = '''"""Options as keywords of the Python interface, for type checkers.

Derived from the structs of options; `make docs` writes it again.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict
'''

_IGNORED = """    enable_fallback: object
    read_config_from_model: object
    disabled_optimizers: object
"""

Pairs = list[tuple[OptionField, Option]]


def keywords_module() -> str:
    """Return the module."""
    checked = keywords_of(CheckOptions) - _PARAMETERS
    precise = checked - {"precision_mode"}
    compiled = keywords_of(CompileOptions) - _PARAMETERS
    shared = compiled - NOT_COMPARED - checked
    classes: tuple[tuple[str, str, str, Pairs], ...] = (
        ("PrecisionKeywords", "", "ATC's finer controls of precision, how models are read, which passes run.",
         _of(CheckOptions, precise)),
        ("CheckKeywords", "PrecisionKeywords", "Options of `check_models`.",
         _of(CheckOptions, {"precision_mode"})),
        ("RuleKeywords", "", "The rules that fix a model, and what they may assume: `fix` of `convert`.",
         _of(FixRules, keywords_of(FixRules))),
        ("FixKeywords", "CheckKeywords, RuleKeywords", "Options of `fix_model`.",
         _of(FixOptions, keywords_of(FixOptions) - keywords_of(FixRules) - keywords_of(CheckOptions))),
        ("CompiledKeywords", "PrecisionKeywords", "Options that comparisons hand to the compilation.",
         _of(CompileOptions, shared)),
        ("ConvertKeywords", "CompiledKeywords", "Options of `convert`.",
         _of(CompileOptions, compiled - shared - precise)),
        ("SessionKeywords", "ConvertKeywords",
         "Options of `InferenceSession`, with keywords of onnxruntime that mean nothing here.", []),
        ("CompareKeywords", "CompiledKeywords", "Options of `compare_model`.",
         _of(CheckOptions, {"precision_mode"}) + _of(SearchOptions, keywords_of(SearchOptions))),
        ("PlanKeywords", "CompiledKeywords", "Options of `plan_model`.",
         _of(PlanOptions, keywords_of(PlanOptions))),
        ("QuantizeKeywords", "", "Options of `quantize`.",
         _of(QuantizeOptions, keywords_of(QuantizeOptions) - {"data", "format"})),
    )  # fmt: skip
    parts = ["\n".join(_lines(*row)) + "\n" for row in classes]
    session = next(at for at, row in enumerate(classes) if row[0] == "SessionKeywords")
    parts[session] += "\n" + _IGNORED
    return "\n\n".join([_HEAD, *parts])


def _of(kind: type[msgspec.Struct], names: Collection[str]) -> Pairs:
    return [(field, option) for field, option in options_in(kind) if option.keyword in names]


def _lines(name: str, bases: str, words: str, pairs: Pairs) -> Iterator[str]:
    yield f"class {name}({bases or 'TypedDict'}, total=False):"
    if not pairs:
        yield f'    """{words}"""'
        return
    yield f'    """{words}'
    yield ""
    yield "    Attributes:"
    for field, option in pairs:
        if field.default is True and "/" not in option.flags and option.values is None:
            assert option.doc, f"{option.keyword}: its flag says the opposite; give it a `doc`"
        text = f"{option.keyword}: {option.doc or option.help[:1].lower() + option.help[1:]}"
        yield from textwrap.wrap(
            text, 100, initial_indent=" " * 8, subsequent_indent=" " * 12, break_long_words=False
        )
    yield '    """'
    yield ""
    for field, option in pairs:
        yield f"    {option.keyword}: {keyword_type(field, option)}"
