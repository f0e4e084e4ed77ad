"""Texts for people, in English and in the languages of the catalogs."""

from atc_py.text.text import (
    COLON,
    COMMA,
    LANGUAGES,
    SEMICOLON,
    Text,
    Words,
    all_of,
    error_text,
    in_language,
    made_text,
    one_of,
    os_reason,
    plain_text,
    plural,
    verbatim,
    written_text,
)

__all__ = [
    "COLON",
    "COMMA",
    "LANGUAGES",
    "SEMICOLON",
    "Text",
    "Words",
    "all_of",
    "error_text",
    "in_language",
    "made_text",
    "one_of",
    "os_reason",
    "plain_text",
    "plural",
    "verbatim",
    "written_text",
]
