"""The speeds that docs/performance.md reports: `make bench`, or `python -m bench [names]`. One file per measurement."""
