"""A check's report as JUnit XML, for the test views of CI servers.

A suite is a model. A case is an operator with one rule that its nodes break, or an operator whose
nodes break none: a case a node would make the same sentence fail two hundred times, and a case an
operator could show but one of its rules, as viewers take a case to have one failure.
"""

from xml.etree import ElementTree as ET

from atc_py.check.findings import Standing
from atc_py.diag import ExitCode, find_code
from atc_py.report.check.document import CheckDocument, CheckedModel, Found
from atc_py.report.check.groups import Group, groups
from atc_py.report.check.words import fix_call, node_text, verdict_text
from atc_py.report.tables import visible

_KINDS = ("failure", "error", "skipped")


def check_junit(document: CheckDocument, fail_on: Standing) -> str:
    """The report as XML.

    Args:
        document: the report.
        fail_on: what makes a case fail; undecided rules that do not are skipped cases, the rest
            passes and says in its output what was found.
    """
    root = ET.Element("testsuites", name=document.tool.name)
    for model in document.models:
        root.append(_suite(document, model, fail_on))
    _count(root, root)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(document: CheckDocument, model: CheckedModel, fail_on: Standing) -> ET.Element:
    suite = ET.Element("testsuite", name=visible(model.path))
    properties = ET.SubElement(suite, "properties")
    values = {
        "precision_mode": document.precision_mode,
        "soc": document.soc,
        "operator_list": document.operator_list,
        "verdict": verdict_text(model, document.cann).in_language(document.lang),
    }
    values |= {f"note.{note.name}": note.text for note in model.notes}
    for name, value in values.items():
        ET.SubElement(properties, "property", name=name, value=visible(value))
    for group in groups(model.all_findings):
        _add_group(suite, document, model, group, fail_on)
    busy = {finding.op for finding in model.findings}
    for row in model.operators:
        if row.op.rpartition("::")[2] not in busy and row.op not in busy:
            _new_case(suite, model, row.op)
    if not len(suite) - 1:
        _new_case(suite, model, "model")
    _count(suite, suite)
    return suite


def _new_case(suite: ET.Element, model: CheckedModel, name: str) -> ET.Element:
    place = {"name": visible(name), "classname": visible(model.path)}
    return ET.SubElement(suite, "testcase", place)


def _add_group(
    suite: ET.Element, document: CheckDocument, model: CheckedModel, group: Group, fail_on: Standing
) -> None:
    first, headline = group.first, group.headline.in_language(document.lang)
    case = _new_case(suite, model, f"{first.op or 'model'}: {headline}")
    text = "\n".join(_lines(group, document.lang))
    kind = _kind(group, fail_on)
    if kind is None:
        ET.SubElement(case, "system-out").text = text
        return
    message = visible(f"{first.code} {first.name}: {headline} ({len(group.findings)})")
    ET.SubElement(case, kind, message=message, type=first.name).text = text


def _kind(group: Group, fail_on: Standing) -> str | None:
    """The kind of a case with these findings; None where it passes."""
    first = group.first
    new = any(not finding.known for finding in group.findings)
    code = find_code(first.code)
    if code is not None and code.exit is ExitCode.FILE:
        return "error"
    if new and Standing(first.level).reaches(fail_on):
        return "failure"
    return "skipped" if new and first.level == Standing.UNKNOWN.value else None


def _lines(group: Group, language: str) -> list[str]:
    lines = [visible(_line(finding, language)) for finding in group.findings]
    if group.first.source:
        lines.append(f"rule: {visible(group.first.source)}")
    if group.first.taken_by:
        lines.append(f"taken by: {', '.join(group.first.taken_by)}")
    if group.first.fixed_by:
        names = ", ".join(group.first.fixed_by)
        lines.append(f"fixed by: {fix_call(group.first)} ({names})")
    return [*lines, f"help: {visible(group.first.help)}"]


def _line(found: Found, language: str) -> str:
    """`error: node 17 "conv2": strides of Conv must be in [1, 63], found 64`."""
    known = "known" if found.known else ""
    return ": ".join(
        part
        for part in (known, found.level, node_text(found).in_language(language), found.message)
        if part
    )


def _count(element: ET.Element, within: ET.Element) -> None:
    element.set("tests", str(len(list(within.iter("testcase")))))
    for kind, attribute in zip(_KINDS, ("failures", "errors", "skipped"), strict=True):
        element.set(attribute, str(len(list(within.iter(kind)))))
