"""The JSON document of a page, for tests."""

import json
import re
from typing import Any

_DOCUMENT = re.compile(r'<script type="application/json" id="document">(.*?)</script>', re.DOTALL)


def document_of(page: str) -> Any:
    """Return what a page shows, from the page's text."""
    found = _DOCUMENT.findall(page)
    assert len(found) == 1
    return json.loads(found[0])
