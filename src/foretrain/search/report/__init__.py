"""The answers of `search` in words, tables and charts."""
