"""A program that prints what it sees of its surroundings, and that a child of its sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys

seen = {
    "path": sys.path[1:],
    "PYTHONPATH": os.environ.get("PYTHONPATH"),
    "environment": sorted(set(os.environ) - {"LC_CTYPE"}),
    "bytes": sorted(map(repr, set(os.environb) - {b"LC_CTYPE"})),
    "modules": sorted(name for name in sys.modules if name.startswith("atc_py")),
    "custom": getattr(sys.modules.get("sitecustomize"), "MARK", None),
    "stdin": os.fstat(0).st_ino,
    "tty": [os.isatty(each) for each in range(3)],
}
if "child" not in sys.argv:
    child = [sys.executable, __file__, "child"]
    seen["child"] = json.loads(subprocess.run(child, capture_output=True, check=True).stdout)
    cleared = subprocess.run(child, capture_output=True, check=True, env={})
    seen["cleared"] = json.loads(cleared.stdout)
sys.stdout.write(json.dumps(seen, indent=1))
