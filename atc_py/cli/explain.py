"""`atc-py explain`: the page of a diagnostic code."""

import click

from atc_py.cli.completed_names import complete_codes
from atc_py.cli.console import print_blocks, print_json
from atc_py.cli.options import AS_JSON
from atc_py.diag import UNKNOWN_NAME, all_codes, did_you_mean, find_code, nearest
from atc_py.text import Text
from atc_py.text.language import language


@click.command()
@click.argument("code", required=False, shell_complete=complete_codes)
@AS_JSON
def explain(*, code: str | None, as_json: bool) -> None:
    """Explain CODE (ATC2003, 2003 or not-an-onnx-model); without CODE, list them all.

    Codes that Huawei's atc prints (E10001, EZ3003) are explained, too.
    """
    from atc_py.adapters.atc.faults import find_fault
    from atc_py.report.explained.page import code_json, code_list, code_page

    rows = all_codes()
    if code is not None:
        found = find_code(code)
        if found is None and (foreign := find_fault(code)) is not None:
            _explain_foreign(*foreign, as_json=as_json)
            return
        if found is None:
            near = nearest(code.lower(), [row.name for row in rows], 2)
            raise UNKNOWN_NAME.error(
                Text("there is no diagnostic {code}", code=repr(code)),
                help=did_you_mean(near, Text("`atc-py explain` lists them all")),
            )
        rows = (found,)
    if as_json:
        print_json([code_json(row, language()) for row in rows])
        return
    shown = code_list(rows, language()) if code is None else code_page(rows[0], language())
    print_blocks(shown)


def _explain_foreign(code: str, meaning: Text, remedy: Text, *, as_json: bool) -> None:
    from atc_py.report.explained.page import foreign_page

    if as_json:
        said = [text.in_language(language()) for text in (meaning, remedy)]
        print_json([{"id": code, "tool": "atc", "meaning": said[0], "remedy": said[1]}])
        return
    print_blocks(foreign_page(code, meaning, remedy, language()))
