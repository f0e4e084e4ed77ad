"""What ATC's modes beside conversion do: JSON of models, model information, pre-check, operators."""
