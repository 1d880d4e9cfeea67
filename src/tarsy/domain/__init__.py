"""The nouns of TARSy as frozen values, and every rule that can be decided without waiting."""
