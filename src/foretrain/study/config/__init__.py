"""Configurations of models as other software writes them."""
