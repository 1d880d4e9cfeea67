"""The services that notifications are sent to, each by its own protocol or SDK."""
