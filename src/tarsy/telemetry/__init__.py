"""Metrics and traces: decorators around ports and readers of what was committed. No business code knows them."""

from tarsy.kit import prometheus as prometheus  # before anything here uses that library
