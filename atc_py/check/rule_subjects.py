"""Subjects of rules: the attribute, input or output that a rule is about."""

from atc_py.spec import OpSpec, Rule


def rule_subject(spec: OpSpec, rule: Rule) -> str:
    """The attribute, input or output that the rule is about."""
    arguments = rule.arguments
    if "attribute" in arguments:
        return f"attribute {arguments['attribute']}"
    name = str(arguments.get("axes") or arguments.get("tensor"))
    kind = "input" if any(row.name == name for row in spec.inputs) else "output"
    return f"{kind} {name}"
