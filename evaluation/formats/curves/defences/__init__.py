"""The defences of the benchmark: bundled models, and wrappers."""
