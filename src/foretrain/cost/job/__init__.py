"""Time of a whole job: what happens before, between and instead of its steps."""
