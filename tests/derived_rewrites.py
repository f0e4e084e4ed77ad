"""The page of rules that fix refused models, derived from the registry."""

from collections.abc import Iterator

from atc_py.fix.rule import Exactness, FixRule, Purpose, load_rules

_HEAD = """# Rules of `atc-py fix`

```console
$ atc-py fix refused.onnx
refused.onnx: its only error is removed; 1 node was rewritten

Rewrites
  nodes  operator  rule           new nodes          class                  largest error  allowed  estimated time
      1  Mish      function-body  Softplus Tanh Mul  sums in another order      0 (equal)    1e-05          7.6 µs
...
  verdict             refused (1 error) -> supported, some nodes are rewritten
  opset               18 -> 13
  output y            equal to the original's
...
```

`atc-py fix MODEL` writes a model that the operator list refuses in an equivalent form of listed operators, and runs both to
show it. `convert`, `compare`, `profile` and `quantize` do the same in memory with `--fix`; their reports name the nodes of the
original. `check` names the rules that would remove an error. A rule applies to refused nodes; what it writes may be
rewritten by the next rule. A node whose new form is still refused stays as it was. Where several rules fit, the form is chosen
that takes the least time: a launch for each node, and what it moves and multiplies at the rates of `--soc`; if it is refused in
the end, the next one is tried.

Rules of purpose *precision* apply to listed nodes: in float16 those overflow or lose accuracy, the new form does not. They apply
with `--for-precision`, which is on where `--precision-mode` is force_fp16; `--no-for-precision` leaves them out.

Rules of purpose *cann* apply with `--for cann`, to nodes that meet a deviation of the generation of `--cann` (see
deviations.md): `check` reports them as ATC3017 or ATC3018. The new form means the same in ONNX and on that generation. Nodes of
operators that the parser of the generation does not have count as refused, and the model is written at an opset that the parser
has all of its operators at. A deviation that no rule removes stays a finding of the report. Rules that also have purpose *lists*
apply to refused nodes besides.

When no rule fits any more, the graph is tidied: what leads out of one form that rules wrote and into the next (Squeeze and
Unsqueeze, Cast to int64 and to int32, Transpose, Reshape) is left out, and listed nodes between them work on the form inside. So
a whole region of signals, or of narrowed integers, is entered once and left once. Nodes of the file change only on such a way.

`--dry-run` shows the differences between the two graphs like a unified diff, a hunk for each rewritten node with its rules;
changes alike are folded unless `--verbose` is given. `--format` and `--report FILE` give the record as text, JSON or HTML: for
each rewrite the rules, the nodes before and after, what it assumes, the largest error and the estimated time.

Classes: *equal*, every bit is the same on one engine; *reordered*, sums are taken in another order, differences of up to
1e-5 of the largest result are allowed; *bounded*, with the bound of the rule; *approximate*, applied with
`--allow-approximate` alone, or, where the condition says so, within a bound that the model's own runs are to show. If a rewritten
region differs by more, nothing is written (ATC7030).

The proof has four parts. Both models run on random data (`--random`, three by default) or on yours (`--input`), ends of `--range`
among them, and their outputs are compared. What was finally written for a node runs on the values that the original's run
has there. Each application of a rule runs against the node that it replaced, on drawn data: random ones, zeros, ones,
equal values, ends of integer ranges and of what indices select from, tiny and large floats, up to 1e4 (up to 10 where
the form has a Softmax, since masks are numbers that hold float16); for class *equal* infinities as well, and NaN except for operators
that order their elements, in whose order ONNX has no place for NaN. The sign of zeros does not count. Then the fixed model is
compiled for `--soc` and `--precision-mode` and runs on the simulator, unless its weights take more than 256 MiB or
`--no-simulator` is given; that is reported and never an error.

A difference counts against the limit of the class as a part of the largest result; limits are for float32 and grow with the step
of narrower floats, up to 1 %. Of classes that allow a difference, that which a rounding of the inputs makes of the node itself is
taken out. Elements for which the node itself has no finite result, and data that it refuses, are outside of its domain. So are sums
of float16 and bfloat16 whose terms add up beyond the dtype by magnitude, on data far from 1: a part may overflow where the whole does
not. Inputs that decide dims, axes or steps of quantization are not drawn but keep the values of the model's own run. The report names each
rewrite of which neither engine shows anything, and why.

What a rule needs of integers is proved from dims, constants and indices; bounds of the model's inputs are given with
`--range NAME=LOW:HIGH`. `--bind NAME=VALUE` makes an input a constant."""


def rewrites_page() -> Iterator[str]:
    """Yield every rule with its operators, forms, condition and class."""
    yield from _HEAD.splitlines()
    yield ""
    for _, rule in sorted(load_rules().items()):
        yield f"## {rule.name}"
        yield ""
        yield f"- operators: {', '.join(sorted(rule.operators))}"
        yield f"- before: {rule.text.before.en}"
        yield f"- after: {rule.text.after.en}"
        yield f"- condition: {rule.text.condition.en}"
        yield f"- class: {_class(rule)}"
        if rule.purposes != {Purpose.LISTS}:
            yield f"- purpose: {', '.join(_purposes(rule))}"
        if rule.text.float16:
            yield f"- float16: {rule.text.float16.en}"
        yield ""


def _purposes(rule: FixRule) -> Iterator[str]:
    """Yield the purposes of a rule; that of CANN with the deviations that it removes."""
    for purpose in Purpose:
        if purpose in rule.purposes:
            removed = f" ({', '.join(sorted(rule.deviations))})"
            yield purpose.value + (removed if purpose is Purpose.CANN else "")


def _class(rule: FixRule) -> str:
    """Return the class of a rule, with its bound."""
    bound = f", {rule.bound:g} of the range" if rule.exactness is Exactness.BOUNDED else ""
    return rule.exactness.words.en + bound
