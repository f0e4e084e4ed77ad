"""Text in both languages that atc-py speaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["COLON", "COMMA", "LANGUAGES", "SEMICOLON", "Words"]

LANGUAGES = ("en", "zh")
"""English and Chinese."""


@dataclass(frozen=True, slots=True)
class Words:
    """One text in English and in Chinese."""

    en: str
    zh: str

    @classmethod
    def same(cls, text: object) -> Words:
        """Return numbers, names and dtypes, which read the same in both."""
        return cls(str(text), str(text))

    def in_language(self, language: str) -> str:
        """Return the text in `language`, one of LANGUAGES."""
        return self.zh if language == "zh" else self.en

    def __add__(self, other: Words) -> Words:
        """Return both texts joined."""
        return Words(self.en + other.en, self.zh + other.zh)

    def __bool__(self) -> bool:
        """Return True if it says anything."""
        return bool(self.en)

    def join(self, parts: Iterable[Words]) -> Words:
        """Join the parts with this text between them, as `str.join` does."""
        rows = list(parts)
        return Words(self.en.join(row.en for row in rows), self.zh.join(row.zh for row in rows))

    def as_json(self) -> dict[str, str]:
        """Return text in both languages as JSON values."""
        return {"en": self.en, "zh": self.zh}


COLON = Words(": ", "：")
COMMA = Words(", ", "，")
SEMICOLON = Words("; ", "；")
"""Punctuation between a word and what it introduces, and between parts of a sentence."""
