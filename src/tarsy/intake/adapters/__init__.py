"""One module per sender: pure functions from what it sends to alerts and changes. Facts about formats come from the pages named there."""
