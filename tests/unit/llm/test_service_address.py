import pytest

from tarsy.llm.service import listen_address


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1:50051"),
        ("localhost", "localhost:50051"),
        ("::", "[::]:50051"),
        ("::1", "[::1]:50051"),
        ("[::1]", "[::1]:50051"),
    ],
)
def test_a_host_and_its_port_are_separated(host: str, address: str) -> None:
    assert listen_address(host, 50051) == address
