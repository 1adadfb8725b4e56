"""Files to nouns: studies, configurations, tables and traces, all problems of a file at once."""
