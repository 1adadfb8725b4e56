"""Many models over one shared input pipeline: the plan, the run, the answers."""
