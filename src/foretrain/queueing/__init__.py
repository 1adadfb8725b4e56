"""Waiting: queues by formulas."""
