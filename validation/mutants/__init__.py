"""Whether the tests notice mistakes."""
