"""The transfer format: attacks send images, and defences label them (NIPS 2017 competition)."""
