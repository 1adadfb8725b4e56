"""Queues: formulas beside simulations of ours and of others."""
