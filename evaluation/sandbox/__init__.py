"""Sandboxes that run the code of players: one port, two implementations."""
