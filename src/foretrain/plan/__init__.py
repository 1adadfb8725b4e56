"""How: degrees per axis, micro-batches, sharding, recomputation, schedule; what plans are legal."""
