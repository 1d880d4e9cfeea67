"""HTTP and WebSocket: routes, schemas, errors, authentication, and the server that runs them."""
