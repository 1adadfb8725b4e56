"""Documents and tables to nouns, with checked units."""
