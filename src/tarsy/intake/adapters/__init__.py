"""One module per sender, with the functions that parse its requests into alerts and changes. Each names the pages that document the format."""
