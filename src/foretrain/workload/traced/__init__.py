"""Traced models: what a network does when it runs, row by row, made into layers of operators."""
