"""What it takes to add something to foretrain: done for real, in a copy of its code."""
