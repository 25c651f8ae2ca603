"""The faces of the site that own no table."""
