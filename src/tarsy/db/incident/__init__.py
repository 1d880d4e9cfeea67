"""Incidents and their alerts in the database."""
