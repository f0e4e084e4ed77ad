"""Tidying a fixed graph: forms that rules wrote side by side share what leads into and out of them."""
