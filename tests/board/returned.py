"""Results of a kit as the script on a board packs them, made of a small board's results."""

import hashlib
import zipfile
from pathlib import Path

import msgspec
import numpy as np

from atc_py.adapters.board.layout import (
    BoardResults,
    BoardRun,
    HostFacts,
    KitFile,
    Manifest,
    PortFacts,
    StepRecord,
)
from tests.board.small_board import SOC, SmallBoard


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Returned:
    """Results of a kit, which tests change before they are packed.

    Attributes:
        kit: the kit's folder, with one sample and an output called `y`.
        folder: content of the archive.
        manifest: of the kit.
        variant: the kit's first one, which has the results.
    """

    def __init__(self, kit: Path, folder: Path, board: SmallBoard) -> None:
        self.kit, self.folder = kit, folder
        self.manifest = msgspec.json.decode((kit / "manifest.json").read_bytes(), type=Manifest)
        self.variant = self.manifest.variants[0].name
        fed = np.load(kit / self.manifest.samples[0].inputs[0])
        for kind in ("plain", "dump"):
            run = BoardRun(
                self.variant, "s0", kind, "small", "aa", SOC, 1, (), (PortFacts("y", 0, 2, 40, (1, 10)),),
                (digest(fed.tobytes()),), (1.0, 1.2, 1.1),
            )  # fmt: skip
            self.write(f"{kind}/s0/run.json", msgspec.json.encode(run))
            path = folder / self.variant / kind / "s0" / "0.npy"
            np.save(path, board.outputs["y"])
        board.dump(folder / self.variant / "dump" / "s0" / "tree")
        board.table(folder / self.variant / "msprof" / "s0" / "tables" / "op_summary_1.csv", 9)
        self.write("om-json/om.json", board.json.read_bytes())
        (folder / "host").mkdir()
        facts = HostFacts(soc=SOC, cann="9.1.0")
        (folder / "host" / "facts.json").write_bytes(msgspec.json.encode(facts))

    def write(self, name: str, data: bytes) -> None:
        path = self.folder / self.variant / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def packed(self, steps: tuple[StepRecord, ...] = ()) -> Path:
        files = tuple(
            KitFile(path.relative_to(self.folder).as_posix(), 0, digest(path.read_bytes()))
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path.name != "results.json"
        )
        manifest = digest((self.kit / "manifest.json").read_bytes())
        record = BoardResults(1, manifest, "", steps, (), files)
        (self.folder / "results.json").write_bytes(msgspec.json.encode(record))
        archive = self.folder.with_suffix(".zip")
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(self.folder.rglob("*")):
                if path.is_file():
                    file.write(path, path.relative_to(self.folder).as_posix())
        return archive
