"""Why plans win and lose, and what would change that."""
