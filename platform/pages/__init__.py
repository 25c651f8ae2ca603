"""HTML pages of the site. This app has no tables."""
