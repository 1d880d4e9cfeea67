"""Prometheus' client library without the servers and clients that it brings along, and what they need: a megabyte for nothing that we use.

Import this before that library, or what is here instead of it.
"""

from importlib import import_module

from tarsy.kit.imports import hollowed

with hollowed("http.server", "socketserver", "urllib.request", "wsgiref.simple_server"):
    import_module("prometheus_client")

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

__all__ = ["CONTENT_TYPE_LATEST", "generate_latest"]
