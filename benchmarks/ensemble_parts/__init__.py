"""Parts of benchmarks/ensemble.py: workload, measured process trees, methods and rows."""
