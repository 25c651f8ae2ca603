"""How the weights of the bundled models were made."""
