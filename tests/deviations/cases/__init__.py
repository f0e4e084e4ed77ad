"""Cases of deviations, one family a module; importing a module registers its cases."""
