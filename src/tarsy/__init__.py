"""TARSy, the Thoughtful Alert Response System."""

__version__ = "0.1.0"
