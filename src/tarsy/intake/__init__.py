"""The way in for monitoring systems: their bodies become alerts, alerts find their route, and a route says what follows."""
