"""The signed result bundle of a round: canonical lines, their signature, and their verification."""
