"""Protobuf messages as JSON, by the rules of ATC's mode 1."""
