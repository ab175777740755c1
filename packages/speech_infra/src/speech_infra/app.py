"""The CDK app: the stacks of one model in one stage. `speech-infra synth MODEL` makes it; nothing here asks AWS."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from infra_common.ownership import Owner

from speech_infra.catalogue import model_named
from speech_infra.names import Names
from speech_infra.release import Release
from speech_infra.rule_check import HouseRules
from speech_infra.stacks.endpoint import EndpointStack
from speech_infra.stacks.foundation import FoundationStack
from speech_infra.stacks.network import NetworkStack


def build_app(names: Names, owner: Owner, release: Release, output: Path) -> cdk.App:
    """All stacks, tagged; synthesis checks the house rules."""
    app = cdk.App(outdir=str(output), analytics_reporting=False)
    settings = {"env": cdk.Environment(account=names.account, region=names.region)}
    for key, value in (release.options.tags | owner.tags()).items():
        cdk.Tags.of(app).add(key, value)
    foundation = FoundationStack(app, names, release.options, **settings)
    network = NetworkStack(app, names, **settings) if release.options.use_vpc else None
    model = model_named(names.model)
    EndpointStack(app, names, model=model, release=release, foundation=foundation, network=network, **settings)
    cdk.Validations.of(app).add_plugins(HouseRules())
    return app
