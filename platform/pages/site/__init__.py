"""Home, documentation, brand, errors and the well-known addresses of the site."""
