"""The cheapest assignment of dtypes to nodes that is accurate enough."""
