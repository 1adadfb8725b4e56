"""Coefficients: how well hardware and software do what their data sheets promise."""
