"""Submissions of earlier competitions, run as they are: recognised, checked, and started in their own environment.

`player/` holds the modules that such a submission imports; it belongs to the player's side of the sandbox and is no
part of this package.
"""
