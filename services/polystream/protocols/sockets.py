"""The listening sockets of all servers, with what asyncio does not set on its own."""

import socket

#: Connections waiting to be accepted.
BACKLOG = 4096
#: Unsent bytes that the kernel takes of a connection. Linux grows it to 4 MiB: so much memory would a frozen
#: reader cost, and so long would it seem to take something. Data in flight is not limited by it.
UNSENT_BYTES = 64 * 1024


def listening(host: str, port: int) -> socket.socket:
    """A bound socket, whose connections inherit its options. Raises `OSError` that names the address.

    It names TCP as its protocol, or asyncio leaves Nagle's algorithm on and each answer waits 40 ms for an
    ACK.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise OSError(error.errno, f"{error.strerror}: {host}:{port}") from None
    return listener
