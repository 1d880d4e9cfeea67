"""Compiles what a server loads of its libraries without their documentation and assertions: 3 MB less memory in each process.

Run by `make setup` and by the build of the image, with the Python that will run TARSy. Our own modules keep theirs: the API and the command
line are described by them.
"""

import os
import py_compile
import sys
from importlib import import_module
from importlib.util import cache_from_source
from pathlib import Path

SERVER = ("tarsy.cli.main", "tarsy.server", "tarsy.wiring", "tarsy.tools.connection")


def libraries() -> list[Path]:
    """The source files of the libraries that are loaded."""
    files = [Path(file) for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))]
    return [file for file in files if file.suffix == ".py" and "site-packages" in file.parts]


def main() -> None:
    mode = os.environ.get("PYC_INVALIDATION_MODE")
    for name in SERVER:
        import_module(name)
    for file in libraries():
        py_compile.compile(
            str(file),
            cfile=cache_from_source(str(file)),
            doraise=True,
            optimize=2,
            invalidation_mode=py_compile.PycInvalidationMode[mode] if mode else None,
        )


if __name__ == "__main__":
    main()
