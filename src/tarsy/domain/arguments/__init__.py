"""From what a model wrote to the arguments a tool accepts: read, bent towards the schema, checked against it."""
