"""Lowering functions in the groups of `op_specs/`; the registry imports those of a model's operators."""
