"""HTTP and WebSocket: thin edges over sessions and events."""
