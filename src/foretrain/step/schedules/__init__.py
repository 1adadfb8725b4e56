"""Pipeline schedules: how long the passes of a step take, one file each."""
