"""Options of fixing a model, as values that no later stage changes."""

from dataclasses import dataclass, field

from atc_py.options.compile_options import CheckOptions
from atc_py.options.fix_rules import FixRules

SEEDS = 3
"""Random inputs on which a model and its fixed form run, unless another number is given."""


@dataclass(frozen=True, slots=True)
class FixOptions:
    """The user's options for writing a fixed model.

    Attributes:
        check: the list, the precision mode, the SoC and the dims that the model is fixed for.
        rules: the rules that apply.
        dry_run: whether nothing is written.
        seeds: number of random inputs on which both models run; 0 for no proof.
        data: files with data of inputs, as `name=file`, a lone file, or a folder of files.
        simulate: whether the fixed model also runs in the target's precision, on the simulator.
        external: whether weights go into a file beside the model.
    """

    check: CheckOptions = field(default_factory=CheckOptions)
    rules: FixRules = field(default_factory=FixRules)
    dry_run: bool = False
    seeds: int = SEEDS
    data: tuple[str, ...] = ()
    simulate: bool = True
    external: bool = False
