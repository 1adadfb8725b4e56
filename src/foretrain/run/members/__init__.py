"""Members of an ensemble as processes: they train, report, keep their state and go on from it."""
