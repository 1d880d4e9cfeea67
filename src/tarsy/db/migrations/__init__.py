"""The schema's history, oldest first, in `versions`; written from `tables` and reviewed."""
