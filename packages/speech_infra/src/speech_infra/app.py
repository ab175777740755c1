"""The CDK apps: the stacks of one model in one stage, and those of a stage's pipeline. Nothing here asks AWS."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from infra_common.ownership import Owner

from speech_infra.catalogue import model_named
from speech_infra.governed_app import governed_app
from speech_infra.names import Names
from speech_infra.pipeline import Pipeline, owner_of
from speech_infra.release import Release
from speech_infra.stacks.endpoint import EndpointStack
from speech_infra.stacks.foundation import FoundationStack
from speech_infra.stacks.network import NetworkStack
from speech_infra.stacks.pipeline import PipelineStack


def build_app(names: Names, owner: Owner, release: Release, output: Path) -> cdk.App:
    """All stacks, tagged; synthesis checks the house rules."""
    app, settings = governed_app(names, release.options.tags | owner.tags(), output)
    foundation = FoundationStack(app, names, release.options, **settings)
    network = NetworkStack(app, names, **settings) if release.options.use_vpc else None
    model = model_named(names.model)
    EndpointStack(app, names, model=model, release=release, foundation=foundation, network=network, **settings)
    return app


def build_pipeline(pipeline: Pipeline, output: Path) -> cdk.App:
    """The roles of a pipeline."""
    app, settings = governed_app(pipeline.names, owner_of(pipeline.names.stage).tags(), output)
    PipelineStack(app, pipeline, **settings)
    return app
