"""A case from creation to closure through the handlers, and what each step leaves behind."""

from __future__ import annotations

from collections import Counter

from tests.api import ADMIN, OFFICER, REVIEWER, SUPERVISOR, Api


def kinds(api: Api) -> Counter[str]:
    """How many items of each kind the table holds; command records by status."""
    return Counter(
        item["status"]["S"]
        if item["SK"]["S"] == "COMMAND"
        else item["PK"]["S"].split("#")[0]
        if item["PK"]["S"].startswith("OUTBOX#")
        else item["SK"]["S"].split("#")[0]
        for item in api.items()
    )


def test_a_case_lives_from_creation_to_closure(api: Api) -> None:
    case_id = api.submitted()
    approved = api.post(f"/cases/{case_id}/approvals", {"expectedVersion": 3}, actor=REVIEWER)
    closing = {"resolution": "Filed", "expectedVersion": 4}
    closed = api.post(f"/cases/{case_id}/closures", closing)
    assert (approved.status, approved.body["status"]) == (200, "APPROVED")
    assert (closed.status, closed.body["status"], closed.headers["ETag"]) == (200, "CLOSED", '"v5"')
    case = api.get(f"/cases/{case_id}")
    assert (case.body["status"], case.body["version"]) == ("CLOSED", 5)
    assert api.get("/officers/o-1").body["activeLoad"] == 0


def test_a_rejected_case_is_reopened_and_needs_a_new_review(api: Api) -> None:
    case_id = api.submitted()
    rejecting = {"reason": "Unsigned", "expectedVersion": 3}
    assert api.post(f"/cases/{case_id}/rejections", rejecting, actor=REVIEWER).status == 200
    reopened = api.post(f"/cases/{case_id}/reopenings", {"expectedVersion": 4})
    assert (reopened.status, reopened.body["status"]) == (200, "OPEN")
    again = api.post(f"/cases/{case_id}/approvals", {"expectedVersion": 5}, actor=REVIEWER)
    assert (again.status, again.code) == (403, "forbidden")


def test_a_created_case_says_where_it_is_and_at_which_version(api: Api) -> None:
    created = api.case()
    assert created.status == 201
    assert created.headers["Location"] == f"/cases/{created.body['caseId']}"
    assert created.headers["ETag"] == '"v1"'
    assert created.body["status"] == "OPEN"


def test_each_transition_leaves_one_event_one_outbox_entry_and_one_record(api: Api) -> None:
    api.submitted()
    found = kinds(api)
    commands = 4  # register, create, assign, submit
    assert (found["EVENT"], found["OUTBOX"], found["COMPLETED"]) == (commands, commands, commands)


def test_a_refused_command_leaves_one_final_record_and_nothing_else(api: Api) -> None:
    case_id = api.submitted()
    before = kinds(api)
    body = {"reviewerId": "r-1", "expectedVersion": 3}
    assert api.post(f"/cases/{case_id}/submissions", body).code == "invalid-state"
    assert kinds(api) - before == Counter({"FAILED_FINAL": 1})


def test_an_edit_changes_only_what_it_names(api: Api) -> None:
    case_id = api.assigned()
    edited = api.call("PATCH", f"/cases/{case_id}", {"priority": "LOW", "expectedVersion": 2})
    assert (edited.status, edited.body["priority"]) == (200, "LOW")
    assert api.get(f"/cases/{case_id}").body["title"] == "Dust"


def test_a_reference_is_renamed_and_an_unchanged_one_is_no_change(api: Api) -> None:
    case_id = api.assigned()
    path, renaming = f"/cases/{case_id}/external-ref", {"externalRef": "REG-2"}
    renamed = api.call("PUT", path, {**renaming, "expectedVersion": 2})
    assert (renamed.status, renamed.body["version"]) == (200, 3)
    unchanged = api.call("PUT", path, {**renaming, "expectedVersion": 3})
    assert (unchanged.status, unchanged.body["version"]) == (200, 3)
    assert api.case("REG-1").status == 201


def test_an_officer_is_deactivated_activated_and_limited(api: Api) -> None:
    api.officer()
    off = api.post("/officers/o-1/deactivations", {"expectedVersion": 1}, actor=ADMIN)
    assert (off.status, off.body["status"]) == (200, "INACTIVE")
    again = api.post("/officers/o-1/deactivations", {"expectedVersion": 2}, actor=ADMIN)
    assert again.code == "invalid-state"
    on = api.post("/officers/o-1/activations", {"expectedVersion": 2}, actor=ADMIN)
    assert (on.status, on.body["version"]) == (200, 3)
    limit = {"maxLoad": 9, "expectedVersion": 3}
    assert api.call("PUT", "/officers/o-1/max-load", limit, actor=SUPERVISOR).status == 200
    assert api.get("/officers/o-1").body["maxLoad"] == 9


def test_a_closed_case_is_redacted_and_keeps_its_trail(api: Api) -> None:
    case_id = api.submitted()
    api.post(f"/cases/{case_id}/approvals", {"expectedVersion": 3}, actor=REVIEWER)
    api.post(f"/cases/{case_id}/closures", {"resolution": "Filed", "expectedVersion": 4})
    gone = api.call("DELETE", f"/cases/{case_id}?expectedVersion=5", actor=SUPERVISOR)
    assert (gone.status, gone.body["redacted"]) == (200, True)
    shown = api.get(f"/cases/{case_id}").body
    assert shown.keys() == {"caseId", "status", "version", "redacted", "redactedAt"}
    assert len(api.get(f"/cases/{case_id}/events").body["items"]) == 6
    refused = api.call("DELETE", f"/cases/{case_id}?expectedVersion=6", actor=SUPERVISOR)
    assert refused.code == "invalid-state"


def test_members_of_a_case_are_added_counted_and_listed(api: Api) -> None:
    case_id = api.assigned()
    path = f"/cases/{case_id}"
    note = api.post(f"{path}/notes", {"text": "Two\nlines"})
    task = api.post(f"{path}/tasks", {"title": "Inspect"})
    member = api.post(f"{path}/investigators", {"userId": "u-1"})
    assert [note.status, task.status, member.status] == [201, 201, 201]
    counts = api.get(path).body
    assert (counts["noteCount"], counts["openTaskCount"], counts["investigatorCount"]) == (1, 1, 1)
    assert [t["taskId"] for t in api.get(f"{path}/tasks").body["items"]] == [task.body["taskId"]]
    assert api.get(f"{path}/notes").body["items"][0]["text"] == "Two\nlines"
    assert api.post(f"{path}/tasks/{task.body['taskId']}/closures").body["status"] == "CLOSED"
    assert api.call("DELETE", f"{path}/investigators/u-1").status == 200
    assert api.get(f"{path}/investigators").body["items"] == []


def test_a_lease_fences_a_write_made_under_it(api: Api) -> None:
    case_id = api.assigned()
    lease = api.post(f"/cases/{case_id}/leases", {"seconds": 60})
    assert (lease.status, lease.body["fencingNumber"]) == (201, 1)
    edit = {"title": "Under lease", "expectedVersion": 2}
    under = {"Lease-Fencing-Number": "1"}
    assert api.call("PATCH", f"/cases/{case_id}", edit, headers=under).status == 200
    address = f"/cases/{case_id}/leases/{lease.body['leaseId']}"
    renewal = {"fencingNumber": 1, "seconds": 60}
    assert api.call("PUT", address, renewal).status == 200
    assert api.call("DELETE", f"{address}?fencingNumber=1").status == 200
    late = api.call("PATCH", f"/cases/{case_id}", edit | {"expectedVersion": 3}, headers=under)
    assert (late.status, late.code) == (409, "lease-lost")


def test_an_enforcement_is_opened_and_completed(api: Api) -> None:
    case_id = api.submitted()
    api.post(f"/cases/{case_id}/approvals", {"expectedVersion": 3}, actor=REVIEWER)
    opened = api.post(f"/cases/{case_id}/enforcements", {"kind": "FINE"})
    assert opened.status == 201
    assert api.get(f"/cases/{case_id}").body["activeEnforcementCount"] == 1
    path = f"/cases/{case_id}/enforcements/{opened.body['enforcementId']}/completions"
    assert api.post(path, {"outcome": "Paid"}, actor=OFFICER).status == 200
    assert api.get(f"/cases/{case_id}/enforcements").body["items"][0]["outcome"] == "Paid"


def test_an_offboarding_is_accepted_with_the_address_of_its_progress(api: Api) -> None:
    api.officer("o-1")
    api.officer("o-2")
    body = {"toOfficerIds": ["o-2"]}
    accepted = api.post("/officers/o-1/offboardings", body, actor=ADMIN, key="k")
    command = accepted.headers["X-Command-Id"]
    assert (accepted.status, accepted.headers["Location"]) == (202, f"/commands/{command}")
    shown = api.get(f"/commands/{command}", ADMIN).body
    assert (shown["status"], shown["done"]) == ("IN_PROGRESS", 0)
    again = api.post("/officers/o-1/offboardings", body, actor=ADMIN, key="k")
    assert (again.status, again.code) == (409, "command-in-progress")
    twice = {"toOfficerIds": ["o-2", "o-2"]}
    assert api.post("/officers/o-1/offboardings", twice, actor=ADMIN).status == 422
