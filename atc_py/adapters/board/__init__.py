"""Kits for a host with CANN: what `atc-py board` packs for it, and what comes back from it."""
