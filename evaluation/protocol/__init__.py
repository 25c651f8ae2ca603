"""The referee's end of the wire: channels and the handshake. `gauntlet.frames` has the frames that they carry."""
