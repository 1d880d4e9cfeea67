"""Small utilities that know nothing of alerts, sessions or agents."""
