"""Webhooks: what happens in a competition, sent to addresses of teams and organisers."""
