"""Forms of nodes that compute what CANN makes of them, one operator a file."""
