"""The predicates, by the facts that they read; each module registers its own."""
