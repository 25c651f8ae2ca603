"""The transfer format: attacks write images that defences classify later."""
