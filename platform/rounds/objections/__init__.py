"""Objections of teams to the published result of a round: their period, who makes and who answers them."""
