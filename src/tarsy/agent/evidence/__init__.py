"""Reading and checking what an analysis claims: its verdict, its citations, its statements."""
