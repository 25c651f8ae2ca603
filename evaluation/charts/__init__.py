"""Charts as inline SVG, drawn from a table: the same one that a page shows and its CSV holds. Pure functions."""
