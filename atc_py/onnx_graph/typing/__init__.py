"""Type inference: onnx's own, and the rules that correct it.

`infer` asks onnx about a whole graph, again and again until nothing more comes of it, or about one
node alone. Wherever onnx aborts the process, judges a node wrongly or leaves something open, a
type rule steps in. All rules of an operator are found by its name, in one registry
(`type_rules.rules_of`); each is one function in a module of `rules`, whose modules register
themselves when they are imported:

    @type_rule("LSTM", "GRU", when=_lacks_hidden_size)
    def _recurrent(asked: Question) -> Override | None: ...

Rules with `before=True` are consulted before onnx is asked. They return Withheld (onnx must not see
the node yet), Shown (onnx is shown other nodes in its place), Negative (the result would have a
negative dim, which onnx passes over) or, about a node alone, Override (onnx is not asked).

All other rules are consulted after onnx has answered. They return Override (the types are these,
whatever onnx found), Refinement (what onnx found, made more precise) or Contradiction (the node
fails, although onnx infers it).

A correction of another operator is another function, in the module of its group or in a new one.
"""
