"""The documents of `docs/` as pages of the site of their version, and the search in them."""
