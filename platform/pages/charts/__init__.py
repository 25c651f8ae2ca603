"""Adapter: charts of `evaluation.charts` on pages of the site, with its links, files and templates."""
