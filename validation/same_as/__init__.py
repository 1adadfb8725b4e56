"""Whether this tree answers what another commit answered."""
