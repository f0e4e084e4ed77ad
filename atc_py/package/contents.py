"""Contents of a package beside the graph."""

from collections.abc import Mapping

import msgspec


class PackageContents(msgspec.Struct, frozen=True):
    """Contents of the offline model besides the graph.

    Attributes:
        producer: name and version of the program that writes.
        soc: name of the SoC that the graph was compiled for.
        options: the compilation's options, as text.
        kernels: text of each kernel file by its path below `kernels/`; paths are made of ASCII
            letters, digits and `_.+-`.
        kernel_of: name of the kernel that executes a node, by the node's name.
        report: findings and figures, as JSON values.
    """

    producer: str
    soc: str
    options: Mapping[str, str] = msgspec.field(default_factory=dict)
    kernels: Mapping[str, str] = msgspec.field(default_factory=dict)
    kernel_of: Mapping[str, str] = msgspec.field(default_factory=dict)
    report: Mapping[str, object] = msgspec.field(default_factory=dict)
