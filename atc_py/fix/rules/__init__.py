"""Rules, one family a file; `atc_py.fix.rule.load_rules` imports all of them."""
