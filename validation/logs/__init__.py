"""Random logs, read and simulated as users do it, beside schedulers of ten lines."""
