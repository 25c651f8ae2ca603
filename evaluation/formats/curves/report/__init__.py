"""Reports of the benchmark."""
