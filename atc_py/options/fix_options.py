"""Options of fixing a model, as values that no later stage changes."""

from typing import Annotated

import msgspec

from atc_py.options.compile_options import CheckOptions
from atc_py.options.fix_rules import FixRules
from atc_py.options.option import Option
from atc_py.system.structs import Result


class FixOptions(Result, frozen=True):
    """The user's options for writing a fixed model: for what it is fixed, by which rules, and how."""

    check: CheckOptions = msgspec.field(default_factory=CheckOptions)
    rules: FixRules = msgspec.field(default_factory=FixRules)
    dry_run: Annotated[bool, Option(
        "--dry-run", "Write no model; show the differences between the two graphs, node by node.",
        doc="write nothing.",
    )] = False  # fmt: skip
    seeds: Annotated[int, Option(
        "--seeds", "Random inputs on which both models run; 0 for no proof.", numbers=(0, None),
        shown=True,
        doc="number of random inputs on which both models run; 3 by default, 0 for no proof.",
    )] = 3  # fmt: skip
    data: Annotated[tuple[str, ...], Option(
        "--data",
        "Data for an input: .npy, .npz, .pb or raw .bin, or a folder of files that are named "
        "after inputs; the others get random data.", metavar="[NAME=]FILE",
        doc="files with data of inputs, as `name=file` or a lone file, and folders of files that "
        "are called like inputs; other inputs get random data.",
    )] = ()  # fmt: skip
    simulate: Annotated[bool, Option(
        "--no-simulator", "Do not run the fixed model on the simulator.",
        doc="also run the fixed model on the simulator, in the target's precision; by default.",
    )] = True  # fmt: skip
    external_data: Annotated[bool, Option(
        "--external-data", "Write weights to a separate file.",
        doc="put weights into a separate file, which is always done for 1.8 GB or more.",
    )] = False  # fmt: skip
