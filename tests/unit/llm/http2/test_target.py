import pytest

from tarsy.llm.http2.target import Host, Socket, Target, UnusableAddressError, target_of


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("llm:50051", Target("llm:50051", (Host("llm", 50051),))),
        ("llm.example.com", Target("llm.example.com", (Host("llm.example.com", 443),))),
        ("127.0.0.1:1", Target("127.0.0.1:1", (Host("127.0.0.1", 1),))),
        ("[::1]:50051", Target("[::1]:50051", (Host("::1", 50051),))),
        ("[fe80::1%eth0]", Target("[fe80::1%eth0]", (Host("fe80::1%eth0", 443),))),
        ("dns:llm:50051", Target("llm:50051", (Host("llm", 50051),))),
        ("dns:///llm:50051", Target("llm:50051", (Host("llm", 50051),))),
        ("ipv4:10.0.0.1:1,10.0.0.2:2", Target("10.0.0.1:1", (Host("10.0.0.1", 1), Host("10.0.0.2", 2)))),
        ("ipv6:[::1]:1", Target("[::1]:1", (Host("::1", 1),))),
        ("unix:/run/llm.sock", Target("localhost", (Socket("/run/llm.sock"),))),
        ("unix:///run/llm.sock", Target("localhost", (Socket("/run/llm.sock"),))),
        ("unix:llm.sock", Target("localhost", (Socket("llm.sock"),))),
        ("unix-abstract:llm", Target("localhost", (Socket("\0llm"),))),
        # Hosts, whatever they are called.
        ("dns:53", Target("dns:53", (Host("dns", 53),))),
        ("xds:50051", Target("xds:50051", (Host("xds", 50051),))),
    ],
)
def test_addresses_are_read_as_grpc_reads_them(address: str, target: Target) -> None:
    assert target_of(address) == target


@pytest.mark.parametrize(
    "address", ["", ":50051", "llm:", "llm:0", "llm:65536", "llm:http", "a:b:c", "llm:50051/path", "dns://8.8.8.8/llm:1"]
)
def test_an_address_that_names_no_place_is_refused(address: str) -> None:
    with pytest.raises(UnusableAddressError, match="cannot be used: it is not host:port"):
        target_of(address)


@pytest.mark.parametrize("address", ["xds:///llm", "vsock:2:50051", "google-c2p:///llm"])
def test_ways_to_look_a_service_up_that_we_do_not_have_are_named(address: str) -> None:
    with pytest.raises(UnusableAddressError, match=f"not looked up by {address.split(':', maxsplit=1)[0]}"):
        target_of(address)


def test_the_certificate_is_that_of_the_host() -> None:
    assert target_of("[::1]:50051").server_name == "::1"
    assert target_of("unix:/run/llm.sock").server_name == "localhost"
