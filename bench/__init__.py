"""Benchmarks behind docs/performance.md: `make bench`, or `python -m bench [names]`. One file per measurement."""
