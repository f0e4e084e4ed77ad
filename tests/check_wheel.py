"""Builds sdist and wheel, installs each in a clean environment, and does the main job there."""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIGHT = """
import sys
from pathlib import Path
import numpy as np, onnx
light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
count = 3 * 224 * 224
np.save("image.npy", (np.arange(count).reshape(1, 3, 224, 224) / count).astype(np.float32))
sys.stdout.write(str(light))
"""


def main() -> None:
    """Build, install, convert, run, compare; any failure ends with its status."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # The wheel is built from the sdist.
        run(sys.executable, "-m", "build", "--outdir", name, str(ROOT), cwd=folder)
        (wheel,) = folder.glob("*.whl")
        (sdist,) = folder.glob("*.tar.gz")
        check_contents(wheel)
        run(sys.executable, "-m", "venv", "clean", cwd=folder)
        python = folder / "clean" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", str(wheel), cwd=folder)
        light = Path(run(python, "-c", LIGHT, cwd=folder))
        command = python.with_name("atc-py")
        model = light / "light_shufflenet.onnx"
        mode = "--precision-mode=must_keep_origin_dtype"  # made-up weights overflow float16
        run(command, "convert", model, mode, "-o", "model.om", cwd=folder)
        expected = light / "light_shufflenet_output_0.pb"
        run(command, "run", "model.om", "--input", "image.npy", "--expect", expected, cwd=folder)
        run(command, "ops", "show", "Conv", cwd=folder)
        run(command, "check", model, mode, "--format", "html", "-o", "check.html", cwd=folder)
        again = ("install", "--quiet", "--force-reinstall", "--no-deps", str(sdist))
        run(python, "-m", "pip", *again, cwd=folder)
        run(command, "convert", model, mode, "-o", "again.om", cwd=folder)
        if (folder / "again.om").read_bytes() != (folder / "model.om").read_bytes():
            raise SystemExit("the sdist compiles another offline model than the wheel")
    sys.stdout.write("wheel and sdist work in a clean environment\n")


def check_contents(wheel: Path) -> None:
    """Check that the wheel has every specification and template of the checkout."""
    packed = set(zipfile.ZipFile(wheel).namelist())
    for data in ("op_specs", "templates"):
        files = [path for path in (ROOT / data).rglob("*") if path.is_file()]
        wanted = {f"atc_py/_data/{path.relative_to(ROOT).as_posix()}" for path in files}
        if not wanted or wanted - packed:
            raise SystemExit(f"the wheel lacks {sorted(wanted - packed) or data}")


def run(*command: object, cwd: Path) -> str:
    """Run a command in `cwd`, away from the checkout; its standard output."""
    environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.stdout.write(done.stdout)
        raise SystemExit(f"{' '.join(map(str, command))} ended with status {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    main()
