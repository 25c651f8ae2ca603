"""Settings, environment and entry points of the site."""
