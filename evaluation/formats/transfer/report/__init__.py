"""Reports of the transfer format."""
