"""One file per verb: the only place where questions meet."""
