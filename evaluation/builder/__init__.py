"""From a directory at a commit to a player."""
