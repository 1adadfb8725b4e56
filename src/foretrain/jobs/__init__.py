"""A cluster on which jobs keep arriving: scheduler, policies, capacity; the answer `simulate`."""
