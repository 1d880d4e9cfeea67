"""All texts that are sent to models."""
