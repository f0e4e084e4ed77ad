"""The texts that commands show besides messages: helps of options, titles and headings of tables."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from atc_py.cli.main import cli

SOURCES = Path(__file__).resolve().parent.parent / "atc_py"
TEMPLATES = SOURCES.parent / "templates"

CLASSES = {"code", "number", "supported", "error"}
"""Classes of a page's elements beside its texts."""


def commands(
    group: click.Group = cli, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command with its names, groups among them."""
    yield path, group
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def help_texts(command: click.Command) -> Iterator[str]:
    """Yield the paragraphs of a command's help and the helps of its options."""
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        yield " ".join(paragraph.split())
    for option in command.params:
        if isinstance(option, click.Option) and option.help:
            yield " ".join(option.help.split())


def page_texts() -> set[str]:
    """Return the texts that templates of pages say."""
    found: set[str] = set()
    for path in TEMPLATES.rglob("*.j2"):
        for text in re.findall(r"\{[{%].*?[%}]\}", path.read_text(encoding="utf-8")):
            if "|said" in text:
                found.update(a or b for a, b in re.findall(r'"([^"]*)"|\'([^\']*)\'', text))
    return {text for text in found if any(map(str.isalpha, text))} - CLASSES


def table_texts() -> set[str]:
    """Return titles and headings of the tables that reports and commands make."""
    found: set[str] = set()
    for path in [*(SOURCES / "report").rglob("*.py"), *(SOURCES / "cli").glob("*.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = {
            target.id: node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Table":
                for argument in node.args[:2]:
                    found.update(_texts(argument, named))
    return {text for text in found if any(each.isalpha() for each in text)}


def _texts(node: ast.expr, named: dict[str, ast.expr]) -> Iterator[str]:
    """Yield the texts of a title, or of headings without their marks."""
    if isinstance(node, ast.Name):
        value = named.get(node.id)
        if value is not None:
            yield from _texts(value, {})
    elif isinstance(node, ast.Tuple):
        for each in node.elts:
            yield from _texts(each.value if isinstance(each, ast.Starred) else each, named)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value.rstrip(">")
