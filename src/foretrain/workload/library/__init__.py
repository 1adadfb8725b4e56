"""The models that foretrain knows by name, family by family."""
