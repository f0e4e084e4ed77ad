"""The memory plan: who needs what for how long, and where it then lies."""
