"""Metrics and traces: decorators around ports and readers of what was committed. No business code knows them."""

from importlib import import_module

from tarsy.kit.imports import hollowed

# The package brings along servers and clients of its own, and what they need: a megabyte for nothing that we use.
with hollowed("http.server", "socketserver", "urllib.request", "wsgiref.simple_server"):
    import_module("prometheus_client")
