"""Rules, one family a file; `atc_py.fix.registry.load_rules` imports all of them."""
