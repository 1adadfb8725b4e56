"""Finding the best plan."""
