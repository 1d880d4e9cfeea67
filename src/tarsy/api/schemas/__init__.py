"""The request and response models of the API. The dashboard's types are generated from them."""
