"""Labels files of many kinds that are made here with the package magika; prints the labels."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import sys
import tarfile
import tempfile
import wave
import zipfile
from pathlib import Path

import numpy as np
from magika import Magika
from PIL import Image

TEXTS = {
    "python": 'import os\n\n\ndef names(folder):\n    """Return names."""\n    return [x for x in os.listdir(folder) if x]\n\n\nif __name__ == "__main__":\n    print(names("."))\n',
    "c": '#include <stdio.h>\n\nint main(int argc, char **argv) {\n    for (int i = 0; i < argc; ++i)\n        printf("%s\\n", argv[i]);\n    return 0;\n}\n',
    "json": json.dumps({"names": ["a", "b"], "count": 2, "nested": {"x": [1, 2, 3]}}, indent=2),
    "xml": '<?xml version="1.0"?>\n<items>\n  <item id="1">one</item>\n  <item id="2">two</item>\n</items>\n',
    "html": "<!DOCTYPE html>\n<html><head><title>t</title></head><body><p>A paragraph.</p></body></html>\n",
    "shell": "#!/bin/sh\nset -e\nfor file in *.txt; do\n  wc -l \"$file\" | awk '{print $1}'\ndone\n",
    "markdown": "# Title\n\nSome *text* with a [link](https://example.org).\n\n- one\n- two\n\n```sh\nls\n```\n",
    "csv": "name,age,city\nann,31,Oslo\nbob,27,Rome\ncid,44,Lima\n" * 5,
    "rust": 'fn main() {\n    let mut sum = 0u64;\n    for i in 0..10 { sum += i; }\n    println!("{}", sum);\n}\n',
    "java": 'public class A {\n    public static void main(String[] args) {\n        System.out.println("a");\n    }\n}\n',
    "prose": "It was late when they came back, and nobody had seen the letter on the table. " * 6,
}


def binaries() -> dict[str, bytes]:
    """Return binary files."""
    random = np.random.default_rng(5)
    picture = Image.fromarray(random.integers(0, 255, (32, 32, 3), np.uint8))
    found = {}
    for kind in ("png", "jpeg", "gif", "bmp"):
        held = io.BytesIO()
        picture.save(held, kind)
        found[kind] = held.getvalue()
    found["gzip"] = gzip.compress(TEXTS["prose"].encode() * 20, mtime=0)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.txt"), TEXTS["prose"])
    found["zip"] = held.getvalue()
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        info = tarfile.TarInfo("a.txt")
        info.size = 100
        archive.addfile(info, io.BytesIO(b"x" * 100))
    found["tar"] = held.getvalue()
    held = io.BytesIO()
    with wave.open(held, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(random.integers(-999, 999, 4000, np.int16).tobytes())
    found["wav"] = held.getvalue()
    return found


def main() -> None:
    """Label."""
    label = Magika()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, text in TEXTS.items():
            (folder / f"{kind}.1").write_text(text, encoding="utf-8")
        for kind, data in binaries().items():
            (folder / f"{kind}.1").write_bytes(data)
        database = sqlite3.connect(folder / "sqlite.1")
        database.execute("create table t (a integer, b text)")
        database.executemany("insert into t values (?, ?)", [(i, "x" * i) for i in range(50)])
        database.commit()
        database.close()
        paths = sorted(folder.glob("*.1"))
        found = {path.stem: str(label.identify_path(path).output.label) for path in paths}
        both = [str(each.output.label) for each in label.identify_paths(paths)]
    sys.stdout.write(json.dumps([found, both], indent=1) + "\n")


main()
