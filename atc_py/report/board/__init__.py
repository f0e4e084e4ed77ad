"""A board beside the simulator, as tables and as a page."""
