"""HTTP and WebSocket: thin edges over sessions and events."""

from tarsy.kit.imports import hollow

# uvicorn's package brings its command line along, which brings another one and what supervises processes and watches source files.
hollow("uvicorn.main")
