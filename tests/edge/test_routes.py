"""Route tables are right by construction, or these tests say where not."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields

import pytest

from holdfast.edge.command_routes import COMMANDS
from holdfast.edge.families import FAMILIES, routes_of
from holdfast.edge.routes import Route, concrete, rule_of, snake
from holdfast.patterns.commands import Command

COMMON = {field.name for field in fields(Command)}


def ids(route: Route) -> str:
    return route.operation


@pytest.mark.parametrize("route", COMMANDS, ids=ids)
def test_path_and_body_make_the_whole_command(route: Route) -> None:
    path = {snake(name) for name in re.findall(r"\{(\w+)\}", route.path)}
    body = set(route.body.__struct_fields__)
    named = {field.name: field for field in fields(route.command) if field.name not in COMMON}
    needed = {name for name, field in named.items() if field.default is MISSING}
    versioned = {"expected_version"} if route.versioned else set()
    assert not path & body
    assert path | body <= named.keys()
    assert needed <= path | body | versioned


@pytest.mark.parametrize("route", COMMANDS, ids=ids)
def test_a_planner_takes_what_is_read_for_it(route: Route) -> None:
    parameters = inspect.signature(route.planner).parameters
    assert len(parameters) == (1 if route.reads is None else 2)


@pytest.mark.parametrize("route", COMMANDS, ids=ids)
def test_a_command_is_for_named_roles(route: Route) -> None:
    assert route.roles <= {"officer", "reviewer", "supervisor", "customer", "admin"}
    assert route.roles


def test_no_two_routes_are_one_operation() -> None:
    assert len({route.operation for route in COMMANDS}) == len(COMMANDS)


def test_each_route_is_found_by_the_first_part_of_its_path() -> None:
    found = [route.operation for family in FAMILIES for route in routes_of(family)]
    assert sorted(found) == sorted(route.operation for route in COMMANDS)


def test_a_template_becomes_a_rule_and_a_path() -> None:
    template = "/cases/{caseId}/tasks/{taskId}/closures"
    assert rule_of(template) == "/cases/<case_id>/tasks/<task_id>/closures"
    path = concrete(template, {"case_id": "c-1", "task_id": "t-1"})
    assert path == "/cases/c-1/tasks/t-1/closures"
