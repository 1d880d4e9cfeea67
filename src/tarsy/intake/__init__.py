"""Intake of webhooks: their bodies become alerts, routes group alerts into incidents, and incidents are investigated."""
