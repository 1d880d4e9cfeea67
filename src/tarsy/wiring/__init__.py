"""The composition root: the only package that knows all others. Here the type checker proves that adapters fit their ports.

`infrastructure` lives as long as the process, `configured` is built again with each reload of the configuration, and `application`
connects both and runs them, with the periodic tasks in `upkeep`.
"""
