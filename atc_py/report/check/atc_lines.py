"""A check's report in the structure of the file that ATC's pre-check (mode 3) writes."""

import json
from collections import Counter, defaultdict
from typing import Any, TypeAlias

from atc_py.check.findings import Standing
from atc_py.diag import UNKNOWN_OPERATOR, UNSUPPORTED_OPSET
from atc_py.report.check.document import CheckDocument, CheckedModel
from atc_py.system.json_text import escaped
from atc_py.text import Text

Json: TypeAlias = dict[str, Any]
_Key: TypeAlias = tuple[int, str, str, str]


_TYPE_UNSUPPORTED, _PARAM_INVALID, _NAME_REPEATED = 1, 2, 9
"""ATC's numbers of causes."""

_TYPE_CODES = {UNKNOWN_OPERATOR.id, UNSUPPORTED_OPSET.id}

_NAME_CODE = "E13009"

_REPEATED = Text("another node has the same name")


def check_atc(document: CheckDocument) -> str:
    """The object for one model, a list of objects for several."""
    models = [_model(model, document.lang) for model in document.models]
    whole = models[0] if len(models) == 1 else models
    return escaped(json.dumps(whole, indent=2, ensure_ascii=False)) + "\n"


def _model(model: CheckedModel, language: str) -> Json:
    causes: dict[_Key, list[Json]] = defaultdict(list)
    ends = [each for each in model.all_findings if each.level == Standing.PARSER.value]
    ends = [each for each in ends if each.cann_code]
    errors = [each for each in model.all_findings if each.level == Standing.ERROR.value]
    for finding in (*errors, *ends):
        if finding.node is None or finding.cann_code == _NAME_CODE:
            continue
        number = _TYPE_UNSUPPORTED if finding.code in _TYPE_CODES else _PARAM_INVALID
        key = (finding.node, finding.scope, finding.node_name, finding.op.rpartition("::")[2])
        causes[key].append({"code": number, "message": finding.message})
    names = Counter((row.scope, row.name) for row in model.network if row.name)
    names.update((each.scope, each.node_name) for each in ends if each.cann_code == _NAME_CODE)
    rows = []
    for row in model.network:
        own = [*causes.get((row.index, row.scope, row.name, row.type.rpartition("::")[2]), ())]
        if names[row.scope, row.name] > 1:
            own.append({"code": _NAME_REPEATED, "message": _REPEATED.in_language(language)})
        result = {"result": "failed", "cause": own} if own else {"result": "success"}
        rows.append({"name": row.name, "type": row.type, **result})
    failed = sum(row["result"] == "failed" for row in rows)
    sound = failed == 0 and not ends and model.verdict != Standing.ERROR.value
    return {
        "name": model.name,
        "result": "success" if sound else "failed",
        "total": len(rows),
        "pass": len(rows) - failed,
        "fail": failed,
        "op": rows,
    }
