"""Clean processes: a fork server of this process' own."""
