"""Which plan is best, and why the others lose."""
