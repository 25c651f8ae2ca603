"""The attacks of the benchmark."""
