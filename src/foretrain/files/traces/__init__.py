"""Logs of clusters and job lists of simulators, a format each."""
