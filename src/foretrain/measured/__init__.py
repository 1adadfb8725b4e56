"""Real runs, as their sources state them."""
