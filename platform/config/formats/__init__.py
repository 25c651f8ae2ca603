"""Formats of dates, in the form in which Django finds them."""
