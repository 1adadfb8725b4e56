"""Two kinds of devices in one step."""
