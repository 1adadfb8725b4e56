"""What trainers read and write: launch files, command lines, log lines."""
