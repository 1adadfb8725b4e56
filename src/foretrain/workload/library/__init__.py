"""Models that foretrain knows by name."""
