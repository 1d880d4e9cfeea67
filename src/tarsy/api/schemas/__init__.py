"""The shapes of what the API answers. The dashboard's types are generated from them."""
