"""A board's dumps and tables held beside the simulator and the original."""
