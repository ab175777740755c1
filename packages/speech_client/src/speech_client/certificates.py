"""Finding out quickly that a server's certificate is not trusted.

awscrt knows at once, but says so only after 10 to 30 s: its TLS library (s2n) delays failures so that nobody learns
from their timing. A session would run into its deadline and blame the server's silence. A second handshake with
Python's own TLS, begun only when a connection is slow to come up, tells within one round trip.
"""

import asyncio
import ssl


async def check_certificate(host: str, port: int, ca_pem: bytes | None) -> None:
    """Shake hands with `host` and hang up. Raises `ssl.SSLError` if that fails for its certificate, and nothing else.

    `ca_pem`: the authorities to trust; None for the system's.
    """
    context = ssl.create_default_context(cadata=None if ca_pem is None else ca_pem.decode("ascii", "replace"))
    context.set_alpn_protocols(["h2"])
    try:
        _, writer = await asyncio.open_connection(host, port, ssl=context)
    except ssl.SSLCertVerificationError:
        raise
    except OSError:
        return  # another kind of trouble, which the real connection will report
    writer.transport.abort()
