"""The `tarsy` command."""

import gc

# Importing makes a great many objects and no garbage: looking for some at every 700th takes a tenth of the time to start.
gc.set_threshold(50_000)
