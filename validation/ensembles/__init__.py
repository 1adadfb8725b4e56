"""Models of input pipelines that checks hold against runs; no answer uses them."""
