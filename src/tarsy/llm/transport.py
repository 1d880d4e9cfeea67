"""What both ends of the gRPC connection agree on: addresses, message sizes and signs of life. Pure module."""

# A long conversation with large tool results; gRPC's own limit is 4 MiB.
MESSAGE_SIZE = 64 * 1024 * 1024
MESSAGE_OPTIONS = (("grpc.max_send_message_length", MESSAGE_SIZE), ("grpc.max_receive_message_length", MESSAGE_SIZE))

# Clients may ask every ten seconds whether the service is still there, calls or no calls.
KEEPALIVE_OPTIONS = (("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000), ("grpc.keepalive_permit_without_calls", 1))


def address_of(host: str, port: int) -> str:
    """A host and a port as gRPC reads them: without brackets it takes the port of an IPv6 address for its last group."""
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"
