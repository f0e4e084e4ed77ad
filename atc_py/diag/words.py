"""Text in both languages that atc-py speaks."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LANGUAGES", "Words"]

LANGUAGES = ("en", "zh")
"""English and Chinese."""


@dataclass(frozen=True, slots=True)
class Words:
    """One text in English and in Chinese."""

    en: str
    zh: str

    @classmethod
    def same(cls, text: object) -> Words:
        """Numbers, names and dtypes, which read the same in both."""
        return cls(str(text), str(text))

    def in_language(self, language: str) -> str:
        """The text in `language`, one of LANGUAGES."""
        return self.zh if language == "zh" else self.en

    def __add__(self, other: Words) -> Words:
        """Both texts joined."""
        return Words(self.en + other.en, self.zh + other.zh)

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return bool(self.en)
