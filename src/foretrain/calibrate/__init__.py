"""Calibrate: fits coefficients to measured runs, and judges predictions held against them."""
