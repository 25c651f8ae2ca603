"""What templates ask about accounts."""
