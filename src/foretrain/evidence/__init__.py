"""Predictions against measured runs: calibrate, validate."""
