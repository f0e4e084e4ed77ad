"""The digest of the pages of a newer operator list, read by machine.

An entry has lines of prose on opsets, inputs, outputs and attributes, in which editions of the list
are kept apart: `x; 8.5, 9.0: int8 float16; 7.0: float16`. What older editions say is left out.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

DIGEST = Path(__file__).resolve().parents[2] / ".." / "shared/reference/cann_lists"
EDITION = "9.0"

SPELLINGS = {
    "Argmax": "ArgMax",
    "Argmin": "ArgMin",
    "Cumsum": "CumSum",
    "LogSoftMax": "LogSoftmax",
}
"""Names of the index of 8.0, and ONNX's."""

_OTHER_NAMES = {"double": "float64", "float": "float32"}
_DTYPE = re.compile(
    r"b?float(?:16|32|64)?|double|u?int(?:4|8|16|32|64)|bool|complex(?:64|128)|string"
)
_HEAD = re.compile(
    r"^\s*(?:(?:till|before|up to|until)\b|(?:en |zh |English |community[- ])*\d+\.\d)"
)
"""Begins a clause that is about certain editions."""

_OLDER = re.compile(r"^\s*(?:u?int|float)\d+ in [5678]\.\d")
"""A clause that is about certain editions, none of them the one that is read."""

_SAME = re.compile(
    r"\b(?:dtype|same dtypes|same (?:dtype )?list)(?!s)[^;.|,]*? (?:as|for) (?:the |listed for )?(\w+)"
    r"|\bsame list\b"
)
_NAMES = re.compile(r"\s*([a-z]\w*)(?:(?:, | and )[a-z]\w*(?= int| float| bool|\s*$))?")
_NEXT = re.compile(r", (?=[a-z]\w* (?:int|float32|bool|string)\b)")
"""Separates attributes of one clause, each with its type."""

_OF = re.compile(r"\b(?:of|as|when|with|in) (?:the )?\w+|\bempty string")
_DEFAULT = re.compile(r"(?<!no )\bdefault (?:all )?(?!not? )(\[[^\]]*\]|[^\s,;:]+)")
_ELSEWHERE = re.compile(
    r"(?<!values )(?<!default )not (?:listed|mentioned)\b|gone from|absent from|listed in 5|: only [5-8]"
)
"""Marks an attribute that pages of 9.0 do not have."""
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?")
_NO_LIMIT = re.compile(
    r"\d+ (?:integers|x int32|values|for \d-D)|\[-[a-z]+, [a-z]+(?:-1)?\]|Ascend \w+|Atlas [\d/]+|[a-z_]+-1\b|"
    r"[A-Za-z_]+\d+|\d+\.\d+\.[\w.]+|\b[5-9]\.\d(?:RC\d)?|\d-?D\b|\[\d\]|"
    r"[Oo]psets? \d[\d/, -]*"
)
"""Counts of elements, bounds of axes, editions, names with digits, ranks and opsets."""
_NO_NAME = re.compile(
    r"absent|all|at|both|defaults?|each|in|must|none|no|not|older|only|optional|range|rank|required|"
    r"types|which|with"
)
"""Words that begin clauses which go on with the last attribute, or name none."""


@dataclass
class Entry:
    """What the digest says of one operator.

    Attributes:
        name: the operator.
        title: the page's spelling, where it is said to be another one.
        page: the number of its page of 9.0; "" where it has none.
        lines: by key: opsets, in, out, attrs, rules ...
    """

    name: str
    title: str
    page: str
    lines: dict[str, str] = field(default_factory=dict)

    @property
    def opsets(self) -> tuple[int, ...]:
        """The opsets listed in 9.0."""
        text = _without_parentheses(self.lines["opsets"])
        head, _, rest = text.partition(" in every edition")
        if rest:
            return _numbers(head)
        for clause in text.split(";"):
            editions, _, numbers = clause.partition(":")
            if EDITION in re.split(r"[/ ,]", editions):
                return _numbers(re.split(r" by ", numbers)[0])
        return ()

    @property
    def rules(self) -> str:
        """The rules that hold in 9.0."""
        return " ; ".join(_clauses(self.lines["rules"]))

    def operands(
        self, key: str, names: Iterable[str], aliases: dict[str, str]
    ) -> dict[str, set[str]]:
        """Return dtypes by operand; `same X` stands for those of another one.

        Args:
            key: `in` or `out`.
            names: the operands' names; the first word of the line is the first of them.
            aliases: other spellings of the page.
        """
        known = list(names)
        line = re.sub(r"\| (?:ranks?|shapes?)\b[^.;]*", "", _without_parentheses(self.lines[key]))
        text = " ; ".join(_clauses(line.replace("|", ";")))
        word = re.match(r"\s*([A-Za-z_]\w*)", text)
        spelled = {name.lower(): name for name in known if name != "A"}
        spelled |= {name: name for name in known}
        if word is not None and known and not _DTYPE.fullmatch(word[1]):
            spelled.setdefault(word[1], known[0])
        spelled |= aliases
        return _assigned(text, spelled, known)

    def numbers(self, key: str) -> set[float]:
        """Return the numbers of a line, without those of editions, opsets, dtypes and ranks."""
        clauses = " ; ".join(_clauses(self.lines[key]))
        return {float(number) for number in _NUMBER.findall(_NO_LIMIT.sub(" ", clauses))}

    def attributes(self) -> dict[str, str]:
        """Return the clause of each attribute by its name."""
        found: dict[str, str] = {}
        last = ""
        line = _NEXT.sub(" ; ", _without_parentheses(self.lines["attrs"]))
        for clause in _clauses(line):
            matched = _NAMES.match(clause)
            if _ELSEWHERE.search(clause):
                continue
            if matched is None or _NO_NAME.fullmatch(matched[1]):
                if last:
                    found[last] += f", {clause}"
                continue
            for last in re.findall(r"\w+", matched[0].replace(" and ", " ")):
                found[last] = f"{found[last]}, {clause}" if last in found else clause
        return found


def default_in(clause: str) -> str | None:
    """Return the default that a clause gives, as text."""
    found = _DEFAULT.search(clause)
    return found[1].rstrip(".") if found is not None else None


@dataclass(frozen=True)
class IndexRow:
    """A row of the index's table."""

    name: str
    page: str
    custom: bool


def entries(folder: Path) -> list[Entry]:
    """Return the entries of all parts; of an operator in two parts, both."""
    found = []
    for path in sorted(folder.glob("part*.md")):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(
            r"^### (\w+) +\(([^\n]*)\)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL
        ):
            page = re.match(r"9\.0 page (\d{4})", match[2])
            title = re.search(r'titled? (?:there is )?"(\w+)"(?! up to)', match[2])
            lines = re.findall(r"^- (\w+)[^:\n]*: (.*)$", match[3], re.MULTILINE)
            name = match[1]
            found.append(
                Entry(name, title[1] if title else name, page[1] if page else "", dict(lines))
            )
    return found


def index_rows(folder: Path) -> list[IndexRow]:
    """Return the rows of the index's table."""
    text = (folder / "index.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\w+) \| (?:yes|no) \| (?:yes|no) \| ([\w ]+) \| (.*?) ?\|$", text, re.MULTILINE
    )
    return [
        IndexRow(name, page if page.isdigit() else "", remark == "custom")
        for name, page, remark in rows
    ]


def names_of_8_0(folder: Path) -> list[str]:
    """Return the operators of the index of 8.0, as printed."""
    text = (folder / "index.md").read_text(encoding="utf-8")
    section = text.split("## 8.0, as printed")[1].split("\n## ")[0]
    return re.findall(r"\w+", section.split("page)")[1])


# Parts of lines ---------------------------------------------------------------------------------


def _numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of `9, 11-13`."""
    found: list[int] = []
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def _without_parentheses(text: str) -> str:
    """Return a text without what stands in parentheses."""
    while (shorter := re.sub(r"\s*\([^()]*\)", "", text)) != text:
        text = shorter
    return text


def _clauses(text: str) -> Iterator[str]:
    """Yield the clauses that hold in 9.0, without the editions that they name."""
    plain = re.sub(r"\b[Oo]psets? \d[\d, -]*:", "", _without_parentheses(text))
    for clause in re.split(r";|\.(?=\s|$)", plain):
        if not _HEAD.match(clause):
            if not _OLDER.search(clause):
                yield clause.strip()
            continue
        head, _, rest = clause.partition(":")
        if rest and _has_edition(head):
            yield rest.strip()


def _has_edition(head: str) -> bool:
    """Return True if editions in words include the one that is read."""
    until = re.search(r"\bto (\d+\.\d)", head)
    later = re.search(r"and later|\bon\b", head)
    return (
        bool(later)
        or (until is not None and float(until[1]) >= float(EDITION))
        or re.search(rf"(?<![\w.]){re.escape(EDITION)}(?![\w.])", head) is not None
    ) and not re.match(r"\s*(?:till|before|up to|until)", head)


def _assigned(text: str, spelled: dict[str, str], known: list[str]) -> dict[str, set[str]]:
    """Return the dtypes that follow each name; names side by side share them."""
    text = _SAME.sub(lambda match: f" @{match[1] or '-'} ", text)
    found: dict[str, set[str]] = {}
    group: list[str] = known[:1]
    open_ = False
    for token in re.findall(r"@[\w-]+|[A-Za-z_]\w*|[;:,]", _OF.sub(" ", text)):
        if token in spelled:
            group = [*group, spelled[token]] if open_ else [spelled[token]]
            open_ = True
        elif token.startswith("@"):
            other = spelled.get(token[1:], token[1:])
            for name in group:
                found.setdefault(name, set()).add(f"same {other}")
            open_ = False
        elif _DTYPE.fullmatch(token):
            for name in group:
                found.setdefault(name, set()).add(_OTHER_NAMES.get(token, token))
            open_ = False
        elif token not in {",", "and", ":"}:
            open_ = False
    return found
