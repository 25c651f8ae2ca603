"""The publication of a round's result: its preview, the licences behind it, and who sees what."""
