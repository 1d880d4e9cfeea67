"""What the simulated cluster answers: pure functions from a world and arguments to text, one module per subject. Docstrings are for the model."""
