"""What is said when there is no database to work with; known before anything heavy is loaded."""


class DatabaseUnavailableError(Exception):
    """The database cannot be used. The operator can act; the text says how."""

    def __init__(self, problem: str, cure: str) -> None:
        super().__init__(f"{problem}\n{cure}")
        self.problem = problem
        self.cure = cure
