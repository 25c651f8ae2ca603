"""The smallest distances that anyone has shown of released models: attacks of the round first, then proofs."""
