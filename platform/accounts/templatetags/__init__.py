"""Template tags about accounts."""
