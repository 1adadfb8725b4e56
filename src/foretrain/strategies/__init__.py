"""Parallel strategies: one file per axis."""
