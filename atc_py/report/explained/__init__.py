"""The page of a diagnostic code: its cause, its fix, and an example before and after it."""

from atc_py.report.explained.page import code_json, code_list, code_page, foreign_page

__all__ = ["code_json", "code_list", "code_page", "foreign_page"]
