"""The interface at the place where ais_bench has it."""

from atc_py.adapters.ais_bench.interface import InferSession as InferSession
from atc_py.adapters.ais_bench.interface import MemorySummary as MemorySummary
from atc_py.adapters.ais_bench.interface import MultiDeviceSession as MultiDeviceSession
