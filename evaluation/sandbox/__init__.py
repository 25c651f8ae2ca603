"""Where a player's code runs: one port, two sandboxes."""
