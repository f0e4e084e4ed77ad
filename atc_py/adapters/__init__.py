"""Interfaces of others on the services of this package; nothing but the command line imports them."""
