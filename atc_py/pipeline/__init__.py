"""The services that the commands call: check, convert, quantize, profile."""
