"""Queueing formulas, a file per family: what theory says of jobs that wait for devices."""
