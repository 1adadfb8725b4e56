"""A shared stream: samples are prepared once on a node and read by many members."""
