"""The demo of the transfer format."""
