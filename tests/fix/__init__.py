"""Tests of fixing refused models."""
