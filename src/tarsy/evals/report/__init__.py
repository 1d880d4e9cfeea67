"""Reports of a measurement: for a terminal, as JSON, as JUnit XML, and as an HTML page."""
