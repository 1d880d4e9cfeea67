"""Where a service is: the spellings of addresses that gRPC knows. Pure."""

import re
from dataclasses import dataclass

# gRPC's own, for an address that names none.
_USUAL_PORT = 443
_HOST_AND_PORT = re.compile(r"(?:\[(?P<bracketed>[^\[\]]+)\]|(?P<plain>[^\[\]:/,]+))(?::(?P<port>\d{1,5}))?")
# A word that only says how to find the host; a host may be called the same, but then a port follows.
_FINDERS = re.compile(r"(?P<name>dns|ipv4|ipv6|unix|unix-abstract|xds|vsock|google-c2p|passthrough):(?!\d+$)(?P<rest>.*)")


class UnusableAddressError(ValueError):
    """The address of a service cannot be used; the operator can act."""


@dataclass(frozen=True, slots=True)
class Host:
    name: str
    port: int


@dataclass(frozen=True, slots=True)
class Socket:
    """A Unix domain socket."""

    path: str


@dataclass(frozen=True, slots=True)
class Target:
    """The places to try, in order, and the name that the service is called by."""

    authority: str
    places: tuple[Host | Socket, ...]

    @property
    def server_name(self) -> str:
        """The name in the certificate."""
        first = self.places[0]
        return first.name if isinstance(first, Host) else self.authority


def target_of(address: str) -> Target:
    """Read an address: host:port, [IPv6]:port, dns:…, ipv4:… and ipv6:… (several, with commas), unix:PATH.

    Raises:
        UnusableAddressError: it is none of these.
    """
    found = _FINDERS.fullmatch(address)
    if found is None:
        return _hosts(address, address)
    rest = found["rest"]
    match found["name"]:
        case "dns":
            return _hosts(address, rest.removeprefix("///"))
        case "ipv4" | "ipv6":
            return _hosts(address, *rest.split(","))
        case "unix":
            return Target("localhost", (Socket(rest.removeprefix("//")),))
        case "unix-abstract":
            return Target("localhost", (Socket(f"\0{rest}"),))
        case other:
            raise UnusableAddressError(f"{address} cannot be used: services are not looked up by {other} here; give host:port")


def _hosts(address: str, *spelt: str) -> Target:
    return Target(spelt[0], tuple(_host(address, text) for text in spelt))


def _host(address: str, text: str) -> Host:
    match = _HOST_AND_PORT.fullmatch(text)
    port = int(match["port"] or _USUAL_PORT) if match else 0
    if match is None or not 0 < port < 2**16:
        raise UnusableAddressError(f"{address} cannot be used: it is not host:port, nor unix:PATH")
    return Host(match["bracketed"] or match["plain"], port)
