"""What both ends of the gRPC connection agree on: message sizes and signs of life."""

# A long conversation with large tool results; gRPC's own limit is 4 MiB.
MESSAGE_SIZE = 64 * 1024 * 1024
MESSAGE_OPTIONS = (("grpc.max_send_message_length", MESSAGE_SIZE), ("grpc.max_receive_message_length", MESSAGE_SIZE))

# Clients may ask every ten seconds whether the service is still there, calls or no calls.
KEEPALIVE_OPTIONS = (("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000), ("grpc.keepalive_permit_without_calls", 1))
