"""Agents: what they are told, how they iterate, what they conclude."""
