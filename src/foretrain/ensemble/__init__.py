"""Ensembles: which members train together, on how many devices, for how long."""
