"""The facts of a SoC about storage: what its kernels take in blocks, and what memory adds."""

import msgspec


class SocStorage(msgspec.Struct, frozen=True, kw_only=True):
    """Storage that the kernels of a SoC ask for where SoCs differ; defaults are the generic device.

    Attributes:
        depthwise_blocks: True if the filter of DepthwiseConv2D is stored in C1HWNCoC0; elsewhere
            it is FRACTAL_Z with a group for each channel.
        grouped_conv: True if one launch of Conv2D takes all groups, the filter in FRACTAL_Z(G);
            elsewhere a grouped convolution is split into one for each group.
        int8_blocks: True if products of int8 are stored in blocks, and all that quantizes matrices
            with them: x1 and the result in FRACTAL_NZ, x2 in FRACTAL_Z. Elsewhere they are stored
            like products of floats.
        row_quants: operators that quantize to int8, or back, in rows as well as in blocks; those
            that are not named do so in blocks alone where `int8_blocks` is set.
        float32_c0: C0 of float32 in what a convolution or a product reads and writes, where its
            data and its result are float32.
        pads_to_four: True if the cube pads channels of a convolution that has at most four to four;
            elsewhere they are padded to C0, unless the filter is stored in FRACTAL_Z_C04.
        c04_filters: True if filters of at most four channels may be stored in FRACTAL_Z_C04 where
            the user asks for it, beside data in NC1HWC0.
        small_channel: True if the user asks for that.
    """

    depthwise_blocks: bool = True
    grouped_conv: bool = False
    int8_blocks: bool = False
    row_quants: frozenset[str] = frozenset()
    float32_c0: int = 16
    pads_to_four: bool = True
    c04_filters: bool = False
    small_channel: bool = False
