"""Training with many workers, event by event."""
