"""Notifications: which events are sent where, as which text, and how they are delivered."""
