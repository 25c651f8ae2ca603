"""Wire protocol: frames and channels. `docs/protocol.md` describes it."""
