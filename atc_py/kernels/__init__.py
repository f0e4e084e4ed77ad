"""Kernel stubs: one text per distinct kernel of a graph, from Jinja templates."""
