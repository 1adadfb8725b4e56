"""Scheduling policies, one file for each family."""
