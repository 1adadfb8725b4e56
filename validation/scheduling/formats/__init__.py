"""Traces in the forms in which simulators of others publish them."""
