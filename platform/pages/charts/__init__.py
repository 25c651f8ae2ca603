"""Charts as inline SVG, drawn on the server from a table: the same one that the page shows and its CSV file holds."""
