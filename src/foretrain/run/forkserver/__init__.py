"""A fork server: processes that start clean, from what is handed to them, beside any threads."""
