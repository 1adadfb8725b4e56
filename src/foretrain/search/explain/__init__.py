"""What makes plans differ, and what would let one fit."""
