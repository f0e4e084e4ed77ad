"""Damaged files of Huawei's atc through every command that reads them: refused with a code, or read.

The files are the real ones beside the project, where they are, and small ones of the tests' own writer.
`python -m tests.fuzz.sweep --worker tests.fuzz.huawei_models` tries many; it writes what
`tests.fuzz.worker` writes.
"""

import random
import struct
import traceback
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

from atc_py.adapters.atc.modes.own_om import model_info, om_to_json
from atc_py.diag import AtcError, ExitCode
from tests.fuzz.byte_mutations import mutate_bytes
from tests.fuzz.seed_models import SHARED
from tests.fuzz.trial import Outcome, Step, run_command
from tests.fuzz.worker import main, measured
from tests.package.ge.om_files import small_model

SECONDS = 30
"""Processor time that a case may take."""

COMMANDS = (
    ("info", "@"),
    ("info", "@", "--ops", "--json"),
    ("diff", "@", "@"),
)
"""Commands that read a file of Huawei's atc, beside atc's modes 1 and 6."""

_MODES: dict[str, Callable[[Path], object]] = {"mode1": om_to_json, "mode6": model_info}
"""The two, as functions: atc's own exit status is none of atc-py's."""

_LARGE = 2**17
"""Bytes from which on a file is taken as much less often as it is larger: 4 MB take 2 s."""

_STRUCTURE = 512
"""Bytes at the start in which header and table of partitions are."""


def damaged_model(seed: int, number: int, *, shared: bool) -> tuple[str, bytes]:
    """Label and bytes of a case, the same whenever it is made."""
    return mutated_file(_sound_models(shared=shared), seed, number)


READ = ("bytes", "bytes", "structure", "description", "description")
"""What is damaged: any bytes, those of tables, or those that describe the graph."""


def mutated_file(
    models: Sequence[tuple[str, bytes]], seed: int, number: int, hows: Sequence[str] = READ
) -> tuple[str, bytes]:
    """Label and bytes of one of the models, by name, damaged; small ones are taken more often."""
    generator = random.Random(f"{seed}:{number}")  # noqa: S311  (no secret)
    shares = [_LARGE / max(len(data), _LARGE) for _, data in models]
    ((name, data),) = generator.choices(models, shares)
    how = generator.choice(hows)
    if how == "bytes":
        return f"#{seed}:{number} {name} {how}", mutate_bytes(data, generator)
    out = bytearray(data)
    start, end = (4, _STRUCTURE) if how == "structure" else _description(data)
    for _ in range(generator.choice((1, 1, 2, 8, 64))):
        at = generator.randrange(start, max(end, start + 1))
        out[at] = generator.choice((0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)))
    return f"#{seed}:{number} {name} {how}", bytes(out)


def try_huawei_model(path: Path) -> Outcome:
    """Give the file at `path` to every command."""
    steps = [run_command(*(part.replace("@", str(path)) for part in each)) for each in COMMANDS]
    return Outcome((*steps, *(_mode_step(name, path) for name in _MODES)))


def _mode_step(name: str, path: Path) -> Step:
    """One of atc's modes."""
    try:
        _MODES[name](path)
    except AtcError as error:
        codes = tuple(dict.fromkeys(each.code.id for each in error.diagnostics))
        return Step(name, int(error.exit_code), codes)
    except Exception:  # noqa: BLE001  (what is looked for)
        return Step(name, int(ExitCode.BUG), (), traceback.format_exc())
    return Step(name, 0, ())


def _description(data: bytes) -> tuple[int, int]:
    """Where the description of the graph is, which most of what is read is in."""
    wide = struct.unpack_from("<Q", data, 184)[0] != 0
    row = struct.Struct("<I4xQQ" if wide else "<III")
    first = 256 + (8 if wide else 4)
    count = struct.unpack_from("<I", data, 256)[0]
    base = first + count * row.size
    rows = [row.unpack_from(data, first + at * row.size) for at in range(count)]
    offset, size = next((offset, size) for kind, offset, size in rows if kind == 0)
    return base + offset, base + offset + size


@cache
def _sound_models(*, shared: bool) -> list[tuple[str, bytes]]:
    """The files that mutation starts from, by name."""
    models = [
        (f"written{number}", small_model(enumerated=bool(number & 1), wide=bool(number & 2)))
        for number in range(4)
    ]
    paths = sorted(SHARED.glob("real/*.om")) if shared else []
    return models + [(path.stem, path.read_bytes()) for path in paths]


def _tried(folder: Path, seed: int, number: int, *, shared: bool) -> dict[str, object]:
    """Return one case; how it ended and what it took."""
    label, data = damaged_model(seed, number, shared=shared)
    path = folder / "model.om"
    path.write_bytes(data)
    return measured(number, label, partial(try_huawei_model, path), SECONDS)


if __name__ == "__main__":
    main(_tried)
