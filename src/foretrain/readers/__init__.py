"""Readers of models that others describe."""
