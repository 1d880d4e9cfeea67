"""The tools of the simulated cluster, one module per subject: functions from a world and arguments to text. Their docstrings are for the model."""
