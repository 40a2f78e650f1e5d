"""Builds the stacks of one stage: `cdk synth -c stage=local|dev|prod`. It makes no AWS call."""

import aws_cdk as cdk

from stacks.data import DataStack
from stacks.observability import ObservabilityStack
from stacks.regions import across_regions
from stacks.replica import ReplicaStack
from stacks.service import ServiceStack
from stacks.stage import reaching, stage_named


def main() -> None:
    app = cdk.App()
    context = app.node.try_get_context
    stage = reaching(stage_named(context("stage")), context("webhookUrl"), context("mailFrom"))
    stage = across_regions(stage, context)
    if stage.writes:
        data = DataStack(app, stage)
        service = ServiceStack(app, stage, data)
        ObservabilityStack(app, stage, service, data.table.table_name)
    else:
        ObservabilityStack(app, stage, ReplicaStack(app, stage), stage.table_name or "")
    for stack in app.node.children:
        cdk.Tags.of(stack).add("component", stack.node.id.lower())
    if context("nag"):
        from cdk_nag import AwsSolutionsChecks

        cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    cdk.Tags.of(app).add("service", "holdfast")
    cdk.Tags.of(app).add("stage", stage.name)
    app.synth()


if __name__ == "__main__":
    main()
