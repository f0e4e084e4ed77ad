"""Type rules by groups of operators; `infer` imports all modules, which registers their rules."""
