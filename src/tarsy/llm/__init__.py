"""Talking to models: one contract, in process or over gRPC."""
