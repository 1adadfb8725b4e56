"""Members and their processes."""
