"""Skills from Git: fetched at the start and by `tarsy skills sync`, never while a session runs; used once the operator has accepted their commit."""
