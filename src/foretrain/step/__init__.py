"""One step of one plan or a million: compute, exchanges, memory; the answer `estimate`."""
