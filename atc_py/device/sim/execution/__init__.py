"""Loading of offline models and execution of their steps."""
