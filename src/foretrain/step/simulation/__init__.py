"""The second resolution: the step played event by event."""
