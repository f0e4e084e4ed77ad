"""Stops `convert` at many instants and checks the files that it leaves.

`python -m tests.faults.kill_sweep [INSTANTS [MODEL]]`, or `make kill-sweep`. Each round begins with
an older output, starts a conversion that would replace it, and sends a signal at its instant. Then

* the offline model, every kernel and every dump is the older one or the newer one, whole;
* the exit status and the last line say what happened, and there is no traceback;
* after SIGTERM and SIGINT nothing else is there; after SIGKILL, nothing else once the same
  conversion has run to its end.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)

_LIMIT = 120
"""Seconds after which a conversion counts as hanging."""

_BEYOND = 1.1
"""The last instant, in times of a whole conversion."""


@dataclass
class Sweep:
    """Conversions of one model that are stopped, in a folder of their own.

    Attributes:
        model: the ONNX file.
        folder: where everything is written, also temporary files.
        faults: what was found wrong, in sentences.
        ends: how often which exit status was seen, by signal.
    """

    model: Path
    folder: Path
    faults: list[str] = field(default_factory=list)
    ends: dict[str, dict[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Convert once each way: what the older and the newer files are, and how long it takes."""
        self._temporary = self.folder / "tmp"
        self._temporary.mkdir()
        self._out = self.folder / "out"
        self._out.mkdir()
        self._convert("must_keep_origin_dtype").communicate(timeout=_LIMIT)
        self._old = self._files()
        started = time.perf_counter()
        self._convert().communicate(timeout=_LIMIT)
        self.seconds = time.perf_counter() - started
        self._new = self._files()
        if not self._old or self._old == self._new:
            raise RuntimeError("the two conversions cannot be told apart")

    def run(self, instants: int, signals: tuple[signal.Signals, ...] = SIGNALS) -> None:
        """Stop conversions at `instants` instants, evenly over one's time, by each signal."""
        for number in signals:
            for count in range(instants):
                self._stop(number, self.seconds * _BEYOND * count / max(1, instants - 1))

    def _convert(self, mode: str = "force_fp16") -> subprocess.Popen[str]:
        """Return a conversion that has begun."""
        command = [sys.executable, "-m", "atc_py", "convert", str(self.model), "-o", "model.om"]
        command += ["--precision-mode", mode, "--kernels", "kernels", "--dump-ir", "stages"]
        return subprocess.Popen(
            command,
            cwd=self._out,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self._temporary)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _stop(self, number: signal.Signals, after: float) -> None:
        """Run one round."""
        self._restore()
        process = self._convert()
        time.sleep(after)
        process.send_signal(number)
        _, said = process.communicate(timeout=_LIMIT)
        status = process.returncode
        seen = self.ends.setdefault(number.name, {})
        seen[status] = seen.get(status, 0) + 1
        when = f"{number.name} after {after:.3f} s: "
        self.faults += [when + fault for fault in self._faults_of_end(number, status, said)]
        self.faults += [when + fault for fault in self._faults_of_files(number)]

    def _faults_of_end(self, number: signal.Signals, status: int, said: str) -> list[str]:
        """Return the faults of exit status and message."""
        handled = {signal.SIGTERM: "terminated;", signal.SIGINT: "interrupted;"}.get(number)
        # Before the command's first line runs, signals have the system's effect.
        if status in {0, -number}:
            return ["a traceback"] if "Traceback" in said else []
        if handled is None or status != 128 + number:
            return [f"exit status {status}: {said[-300:]}"]
        return [] if said.startswith(handled) else [f"it said {said[-300:]!r}"]

    def _faults_of_files(self, number: signal.Signals) -> list[str]:
        """Return the faults of the files that were left."""
        left = self._files()
        faults = [
            f"{name} is neither the older nor the newer one"
            for name, data in left.items()
            if name in {*self._old, *self._new}
            and data not in (self._old.get(name), self._new.get(name))
        ]
        faults += [f"{name} is gone" for name in self._old if name not in left]
        if number is signal.SIGKILL:
            self._convert().communicate(timeout=_LIMIT)
            left = self._files()
            faults += [] if self._new.items() <= left.items() else ["the next one is not whole"]
        strays = sorted(left.keys() - self._old.keys() - self._new.keys())
        strays += [path.name for path in self._temporary.iterdir()]
        return faults + [f"{name} is left behind" for name in strays]

    def _files(self) -> dict[str, bytes]:
        """Return every file that conversions wrote, by its path."""
        return {
            path.relative_to(self._out).as_posix(): path.read_bytes()
            for path in sorted(self._out.rglob("*"))
            if path.is_file()
        }

    def _restore(self) -> None:
        """Restore the older files."""
        for name in self._files():
            (self._out / name).unlink()
        for name, data in self._old.items():
            (self._out / name).write_bytes(data)


def _main() -> int:
    """Sweep and print what was found; the exit status."""
    from tests.faults.models import small_model

    instants = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else small_model(folder)
        sweep = Sweep(model, folder)
        sweep.run(instants)
    for number, seen in sweep.ends.items():
        ends = ", ".join(f"{count} ended with {status}" for status, count in sorted(seen.items()))
        print(f"{number}: {ends}")  # noqa: T201
    print(*sweep.faults, f"{len(sweep.faults)} faults", sep="\n")  # noqa: T201
    return 1 if sweep.faults else 0


if __name__ == "__main__":
    sys.exit(_main())
