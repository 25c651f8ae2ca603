"""The query format: attacks query the models that they play against."""
