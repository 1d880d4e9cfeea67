"""Values of the domain as frozen dataclasses, and every rule that needs no I/O."""
