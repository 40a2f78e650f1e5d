"""Findings of the rule checks that we accept, each with the reason beside the construct."""

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, reason: str, *findings: str) -> None:
    rules = [Acknowledgment(id=finding, reason=reason) for finding in findings]
    Validations.of(construct).acknowledge(*rules)
