"""Answers as documents, tables, pages and charts; knows no question."""
