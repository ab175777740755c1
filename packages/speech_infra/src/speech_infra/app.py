"""The CDK apps: the stacks of one model in one stage, and those of a stage's pipeline. Nothing here asks AWS."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from infra_common.governed_app import governed_app
from infra_common.ownership import Owner

from speech_infra.catalogue import model_named
from speech_infra.names import Names
from speech_infra.pipeline import Pipeline, owner_of
from speech_infra.release import Release
from speech_infra.rules import RULES
from speech_infra.stacks.endpoint import EndpointStack
from speech_infra.stacks.foundation import FoundationStack
from speech_infra.stacks.network import NetworkStack
from speech_infra.stacks.pipeline import PipelineStack


def build_app(names: Names, owner: Owner, release: Release, output: Path) -> cdk.App:
    """All stacks, tagged; synthesis checks the house rules."""
    tags = release.options.tags | owner.tags()
    app, settings = governed_app(names.account, names.region, tags, RULES, output)
    foundation = FoundationStack(app, names, release.options, **settings)
    network = NetworkStack(app, names, **settings) if release.options.use_vpc else None
    model = model_named(names.model)
    EndpointStack(app, names, model=model, release=release, foundation=foundation, network=network, **settings)
    return app


def build_pipeline(pipeline: Pipeline, output: Path) -> cdk.App:
    """The roles of a pipeline."""
    names = pipeline.names
    app, settings = governed_app(names.account, names.region, owner_of(names.stage).tags(), RULES, output)
    PipelineStack(app, pipeline, **settings)
    return app
