"""Small things that know nothing of TARSy: a stranger could use them."""
