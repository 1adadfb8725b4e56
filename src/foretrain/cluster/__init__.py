"""Where a training runs."""
