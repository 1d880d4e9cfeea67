"""Metrics and traces: decorators around ports and readers of what was committed. No business code knows them."""
