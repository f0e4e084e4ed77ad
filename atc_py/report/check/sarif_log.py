"""A check's report as SARIF 2.1.0, for code scanning and editors."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, TypeAlias
from urllib.parse import quote

from atc_py.check.findings import Standing
from atc_py.diag import ExitCode, find_code
from atc_py.report.check.document import CheckDocument, CheckedModel, Found
from atc_py.report.check.words import node_text
from atc_py.system.json_text import escaped
from atc_py.text import COLON

Json: TypeAlias = dict[str, Any]


_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

_LEVELS = {
    Standing.ERROR: "error",
    Standing.UNKNOWN: "warning",
    Standing.PARSER: "warning",
    Standing.LIST: "warning",
    Standing.AICPU: "warning",
    Standing.ACCURACY: "warning",
    Standing.REWRITE: "note",
}

_FINGERPRINT = "atcFinding/v1"


def check_sarif(document: CheckDocument) -> str:
    found = [finding for model in document.models for finding in model.all_findings]
    rules = _positions_of(each.code for each in found)
    codes = map(find_code, rules)
    successful = not any(code is not None and code.exit is ExitCode.FILE for code in codes)
    uris = {model.path: _uri(model.path) for model in document.models}
    artifacts = _positions_of(uris.values())
    files = {path: {"uri": uri, "index": artifacts[uri]} for path, uri in uris.items()}
    results = [
        _result(
            document, model, each, (rules[each.code], _location(model, each, files[model.path]))
        )
        for model in document.models
        for each in model.all_findings
    ]
    run = {
        "tool": {
            "driver": {
                "name": document.tool.name,
                "version": document.tool.version,
                "semanticVersion": document.tool.version,
                "language": document.lang,
                "rules": [_rule(code) for code in rules],
            }
        },
        "invocations": [_invocation(document, files, successful=successful)],
        "artifacts": [
            {
                "location": {"uri": uri},
                "roles": ["analysisTarget"],
                "mimeType": "application/octet-stream",
            }
            for uri in artifacts
        ],
        "results": results,
        "properties": {
            "precisionMode": document.precision_mode,
            "soc": document.soc,
            "operatorList": document.operator_list,
            "verdict": document.verdict,
        },
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return escaped(json.dumps(log, indent=2, ensure_ascii=False)) + "\n"


def _invocation(document: CheckDocument, files: Mapping[str, Json], *, successful: bool) -> Json:
    notes = [
        {
            "descriptor": {"id": note.name},
            "level": "note",
            "message": {"text": _message(note.text)},
            "locations": [{"physicalLocation": {"artifactLocation": files[model.path]}}],
            "properties": {"operators": list(note.operators)},
        }
        for model in document.models
        for note in model.notes
    ]
    invocation: Json = {"executionSuccessful": successful}
    return {**invocation, "toolExecutionNotifications": notes} if notes else invocation


def _positions_of(names: Iterable[str]) -> dict[str, int]:
    return {name: position for position, name in enumerate(dict.fromkeys(names))}


def _rule(code_id: str) -> Json:
    code = find_code(code_id)
    if code is None:
        return {"id": code_id}
    return {
        "id": code.id,
        "name": "".join(part.capitalize() for part in code.name.split("-")),
        "shortDescription": {"text": code.name.replace("-", " ")},
        "fullDescription": {"text": _message(code.meaning)},
        "help": {"text": _message(code.remedy)},
        "defaultConfiguration": {"level": code.severity.value},
        "properties": {"kebabName": code.name, "tags": ["onnx", "ascend"]},
    }


def _result(
    document: CheckDocument, model: CheckedModel, found: Found, placed: tuple[int, Json]
) -> Json:
    rule, location = placed
    result: Json = {
        "ruleId": found.code,
        "ruleIndex": rule,
        "level": _LEVELS[Standing(found.level)],
        "message": {"text": _message(_sentence(found, document.lang))},
        "locations": [location],
        "partialFingerprints": {_FINGERPRINT: found.fingerprint},
        "properties": {
            "level": found.level,
            "rule": found.rule,
            "observed": found.observed,
            "allowed": found.allowed,
            "when": found.when,
            "help": found.help,
        },
    }
    if found.taken_by:
        result["properties"]["takenBy"] = list(found.taken_by)
    if found.certainty:
        result["properties"]["certainty"] = found.certainty
    if found.fixed_by:
        result["properties"]["fixedBy"] = list(found.fixed_by)
    if found.fixed_by and not found.certainty and model.fix is not None:
        result["fixes"] = [_fix(model.fix.command, found.fixed_by, location)]
    if found.source:
        result["relatedLocations"] = [_spec_location(found)]
    if document.baseline is not None:
        result["baselineState"] = "unchanged" if found.known else "new"
    return result


def _fix(command: str, fixed_by: Sequence[str], location: Json) -> Json:
    """The command that removes a finding, as a fix.

    A fix has to name changes of a file, and a model is not text that an editor could change: the
    one change inserts nothing, and the description says what to run (SARIF 2.1.0, 3.55 and 3.57).
    """
    nothing = {"deletedRegion": {"byteOffset": 0, "byteLength": 0}}
    file = location["physicalLocation"]["artifactLocation"]
    return {
        "description": {"text": _message(f"Run `{command}` ({', '.join(fixed_by)})")},
        "artifactChanges": [{"artifactLocation": file, "replacements": [nothing]}],
    }


def _sentence(found: Found, language: str) -> str:
    """`node 17 "conv2": strides of Conv ...`; viewers show the message alone."""
    subject = node_text(found) if found.node is not None else ""
    return COLON.join(part for part in (subject, found.message) if part).in_language(language)


def _location(model: CheckedModel, found: Found, file: Json) -> Json:
    # A model is not text; viewers that need a line get its first.
    location: Json = {"physicalLocation": {"artifactLocation": file, "region": {"startLine": 1}}}
    if found.node is not None:
        path = [model.name, found.scope, f"{found.node}:{found.op}:{found.node_name}"]
        location["logicalLocations"] = [
            {
                "name": found.node_name or f"node {found.node}",
                "fullyQualifiedName": "/".join(part for part in path if part),
                "kind": "element",
                "properties": {"op": found.op, "field": found.field},
            }
        ]
    return location


def _spec_location(found: Found) -> Json:
    file, _, line = found.source.rpartition(":")
    physical: Json = {"artifactLocation": {"uri": _uri(file if line.isdecimal() else found.source)}}
    if line.isdecimal() and int(line) > 0:
        physical["region"] = {"startLine": int(line)}
    return {"id": 0, "physicalLocation": physical, "message": {"text": _message(found.rule)}}


def _uri(path: str) -> str:
    """A relative URI if the file is below the current folder, else a file URI."""
    given = PurePath(path)
    relative = PurePath(os.path.normpath(given))
    if given.is_absolute():
        try:
            relative = given.relative_to(Path.cwd())
        except ValueError:
            return "file://" + quote("/" + given.as_posix().removeprefix("/"))
    # The colon of a first part would be read as that of a scheme.
    return quote(relative.as_posix(), safe="/")


def _message(text: str) -> str:
    """`text` as SARIF's messages have it: braces and links have a meaning there."""
    return text.replace("{", "{{").replace("}", "}}").replace("](", "] (")
