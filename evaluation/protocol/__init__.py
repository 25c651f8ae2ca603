"""The wire protocol: frames and channels, described in docs/protocol.md."""
