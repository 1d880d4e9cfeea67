"""Metrics and traces: decorators around the ports of agents, sessions and the queue, which know nothing of them.

The conversation with a model is never part of a span or a metric.
"""
