"""The wire: frames and channels. docs/protocol.md is its page for people."""
