"""A program's run as JSON, and the schema of that."""

import msgspec

from atc_py.results.program_run import ProgramRun
from atc_py.system.json_text import finite, format_json, json_schema
from atc_py.text import plain_text


def program_json(done: ProgramRun) -> str:
    """The record as JSON, indented; what UTF-8 cannot carry is escaped."""
    return format_json(finite(_texts(msgspec.to_builtins(done, enc_hook=plain_text))))


def program_json_schema() -> str:
    """The JSON schema of the result of `program_json`."""
    return json_schema(ProgramRun)


def _texts(value: object) -> object:
    """Values with texts that UTF-8 can carry: bytes of file names become escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {str(_texts(name)): _texts(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(inner) for inner in value]
    return value
