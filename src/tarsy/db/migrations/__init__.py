"""The schema's history, oldest first, in `versions`; written from `tables` and reviewed. Forwards only: the way back is a backup from before."""
