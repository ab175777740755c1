"""How the voice is spoken to: the real SDK client, at AWS or, where the environment says so, at a loopback gateway.

`SPEECH_ENDPOINT_URI` and `SPEECH_CA_FILE` are the agent's own variables, so both are pointed at a gateway alike.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from speech_client import SageMakerTransport

    from agent_infra.target import Target


def voice_transport(target: Target, endpoint_name: str) -> SageMakerTransport:
    """A transport to a speech endpoint of the target's region. Raises speech_client.SpeechUsageError."""
    from speech_client import DefaultCredentials, SageMakerTransport

    return SageMakerTransport(
        endpoint_name,
        target.session.region,
        endpoint_uri=os.environ.get("SPEECH_ENDPOINT_URI") or None,
        ca_file=os.environ.get("SPEECH_CA_FILE") or None,
        credentials=DefaultCredentials(target.session.profile),
    )
