"""One command per verb: read, call, print."""
