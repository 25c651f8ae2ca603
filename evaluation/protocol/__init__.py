"""Wire protocol, the referee's end: channels and the handshake. The frames are in `gauntlet.frames`."""
