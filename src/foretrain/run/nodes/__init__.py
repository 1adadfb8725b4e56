"""Nodes: one stream of batches, decoded by several nodes and delivered whole to each of them."""
