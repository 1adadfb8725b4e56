"""How a training is run."""
