"""The services behind the commands: check, convert, quantize, profile."""
