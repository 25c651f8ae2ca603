"""The demo: the whole site on a laptop, with virtual teams that use it over HTTP and git."""
