"""One input pipeline over several nodes."""
