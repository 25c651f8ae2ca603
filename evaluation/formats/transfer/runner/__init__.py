"""Runner of the transfer format: all attacks, then all defences on what the attacks made, each in its own sandbox."""
