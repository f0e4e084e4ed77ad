"""The table of diagnostic codes; each is written once, in the file of its family.

Families by first digit: 1 how the command was called, 2 files, 3 which operators and versions a
model uses, 4 rules on nodes, 5 offline models, 6 the compiler's passes, 7 the device, 9 atc-py.
"""

# ruff: noqa: F403  (what the families define is listed in them alone)

from atc_py.diag.codes.device import *
from atc_py.diag.codes.files import *
from atc_py.diag.codes.passes import *
from atc_py.diag.codes.quantizing import *
from atc_py.diag.codes.rules import *
from atc_py.diag.codes.usage import *
