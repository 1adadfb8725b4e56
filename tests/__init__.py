"""Tests: a package of its own name, which no installed one can hide."""
