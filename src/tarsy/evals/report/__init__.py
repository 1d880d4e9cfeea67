"""Reports of a measurement: for a terminal, for programs (JSON), for CI (JUnit), and as one page with plots (HTML)."""
