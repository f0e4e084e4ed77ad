"""Kernels for tests of the cost model, and two networks whose speed has been published."""

from atc_py.cost.operation import KernelEngine, LaunchGroup, Operation, Source, Tensor, Transfer
from atc_py.system.structs import replace
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType

F16 = DType.FLOAT16


def operation(op: str, inputs: list[Tensor], output: Tensor, **attributes: object) -> Operation:
    """Return an operator with one result."""
    row = find_operator(op)
    assert row is not None
    return Operation(row, tuple(inputs), (output,), tuple(sorted(attributes.items())))


def kernel(
    operations: list[Operation], weights: int = 0, engine: KernelEngine = KernelEngine.AICORE
) -> LaunchGroup:
    """Return a kernel that reads the head's inputs, `weights` constants from the second on."""
    head = operations[0]
    reads = [
        Transfer(tensor.nbytes, Source.WEIGHTS if 0 < at <= weights else Source.RESULT)
        for at, tensor in enumerate(head.inputs)
        if tensor is not None
    ]
    out = operations[-1].outputs[0]
    return LaunchGroup(
        tuple(operations), engine, tuple(reads), (Transfer(out.nbytes, Source.RESULT),)
    )


def matmul(m: int, k: int, n: int, stack: int = 0, dtype: DType = F16) -> LaunchGroup:
    """Return a product of matrices with weights, or `stack` products of two results."""
    stacks = (stack,) if stack else ()
    left, right = Tensor((*stacks, m, k), dtype), Tensor((*stacks, k, n), dtype)
    op = "BatchMatMulV2" if stack else "MatMulV2"
    done = operation(op, [left, right], Tensor((*stacks, m, n), dtype))
    return kernel([done], weights=0 if stack else 1)


def convolution(
    data: tuple[int, ...], out: int, window: int, step: int, *behind: str
) -> LaunchGroup:
    """Return a convolution followed by functions of each element."""
    batch, channels, height, width = data
    extents = tuple((extent - 1) // step + 1 for extent in (height, width))
    result = Tensor((batch, out, *extents), F16)
    filters = Tensor((out, channels, window, window), F16)
    head = operation(
        "Conv2D", [Tensor(data, F16), filters], result, strides=(1, 1, step, step), groups=1
    )
    functions = [operation(op, [result] * (2 if op == "Add" else 1), result) for op in behind]
    found = kernel([head, *functions], weights=1)
    added = (Transfer(result.nbytes, Source.RESULT),) * behind.count("Add")
    return replace(found, reads=(*found.reads, *added))


def elementwise(op: str, *shape: int, operands: int = 1, **attributes: object) -> LaunchGroup:
    """Return a vector kernel on float16."""
    tensor = Tensor(shape, F16)
    return kernel([operation(op, [tensor] * operands, tensor, **attributes)])


def resnet50(batch: int) -> list[LaunchGroup]:
    """Return the kernels of ResNet-50 at 224 x 224 after fusion."""
    found = [convolution((batch, 3, 224, 224), 64, 7, 2, "Relu")]
    before, after = Tensor((batch, 64, 112, 112), F16), Tensor((batch, 64, 56, 56), F16)
    found.append(kernel([operation("MaxPoolV3", [before], after, ksize=(1, 1, 3, 3))]))
    channels, extent = 64, 56
    for width, count, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for at in range(count):
            step = first if at == 0 else 1
            data = (batch, channels, extent, extent)
            if at == 0:
                found.append(convolution(data, 4 * width, 1, step))
            found.append(convolution(data, width, 1, 1, "Relu"))
            found.append(convolution((batch, width, extent, extent), width, 3, step, "Relu"))
            extent //= step
            data = (batch, width, extent, extent)
            found.append(convolution(data, 4 * width, 1, 1, "Add", "Relu"))
            channels = 4 * width
    found.append(elementwise("ReduceMeanD", batch, channels, extent, extent, axes=(2, 3)))
    found.append(matmul(batch, channels, 1000))
    return found


def bert_base(batch: int, words: int) -> list[LaunchGroup]:
    """Return the kernels of BERT-base's twelve layers after fusion."""
    wide, heads, inner = 768, 12, 3072
    rows, scores = (batch, words, wide), (batch * heads, words, words)
    layer = [
        *(matmul(batch * words, wide, wide) for _ in range(3)),
        *(elementwise("TransposeD", *rows) for _ in range(3)),
        matmul(words, wide // heads, words, stack=batch * heads),
        elementwise("Add", *scores),
        elementwise("SoftmaxV2", *scores, axes=(-1,)),
        matmul(words, words, wide // heads, stack=batch * heads),
        elementwise("TransposeD", *rows),
        matmul(batch * words, wide, wide),
        elementwise("Add", *rows, operands=2),
        elementwise("LayerNorm", *rows),
        matmul(batch * words, wide, inner),
        elementwise("GeluV2", batch, words, inner),
        matmul(batch * words, inner, wide),
        elementwise("Add", *rows, operands=2),
        elementwise("LayerNorm", *rows),
    ]
    return layer * 12
