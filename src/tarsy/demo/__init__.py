"""Sample incidents: a simulated cluster and recorded models."""
