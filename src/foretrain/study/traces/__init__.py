"""Logs of clusters, format by format."""
