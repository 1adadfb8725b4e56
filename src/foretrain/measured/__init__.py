"""What happened, or is asked of many: measured runs, jobs, traces, members of an ensemble."""
