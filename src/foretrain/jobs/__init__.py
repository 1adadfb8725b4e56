"""Jobs that keep arriving at a cluster: who runs next, and how long everybody waits."""
