"""Wire protocol, the end that starts players: the socket and the channels. The frames are in `gauntlet.frames`."""
