"""HTTP and WebSocket: thin edges over sessions and events."""

from tarsy.kit.imports import hollow

# uvicorn's package brings its command line along, which brings another one and what supervises processes and watches source files.
hollow("uvicorn.main")
# Starlette loads what reads forms wherever it is installed. We take none.
hollow("python_multipart", "python_multipart.exceptions", "python_multipart.multipart")
