"""The invariant table of the README: `python -m tools.invariants` writes it anew.

Its rows come from the plans of the sample commands; what this file adds is the test that shows
each one. A write whose sentence has no test here, or a test that is gone, fails `make check`.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from tools.paths import ROOT

sys.path.insert(0, str(ROOT / "layers" / "domain" / "python"))

from holdfast.writes.plan import Key, Write
from tools.plan import condition
from tools.samples import SAMPLES

README = ROOT / "README.md"
BEGIN, END = "<!-- invariants:begin -->\n", "<!-- invariants:end -->\n"

_CASES = "tests/domain/test_cases.py::"
_OFFICERS = "tests/domain/test_officers.py::"
_IN_ORDER = "tests/domain/test_races_in_order.py::"
_LEASES = "tests/domain/test_leases.py::"
_MONEY = "tests/functions/test_money_life.py::"
_REDACTED = "tests/functions/test_redaction.py::"
_UNIQUE = "tests/patterns/test_uniqueness.py::"
_STATES = "tests/domain/test_states.py::test_a_command_is_taken_in_the_states_of_the_table_alone"
_REFUSED = "tests/functions/test_member_refusals.py::test_a_refused_command_leaves_its_record_alone"
_UNPAID = "tests/functions/test_money_refusals.py::test_a_refused_command_moves_nothing"
_DUPLICATE = _CASES + "test_a_duplicate_gets_the_first_answer_and_changes_nothing"

TESTS = {
    # every command
    "A command takes effect at most once.": "tests/patterns/test_commands.py"
    "::test_duplicates_at_once_get_one_stored_answer",
    "An owner's history has one event for each version, and no gap.": _CASES
    + "test_a_whole_life_leaves_a_dense_trail",
    "Every committed fact waits in the outbox until it is announced.": _CASES
    + "test_a_commit_leaves_one_record_one_event_and_one_outbox_entry",
    # cases
    "A case id is used once.": _CASES
    + "test_a_key_used_after_its_record_expired_collides_with_what_it_made",
    "A value of CASE_REF has one owner in a tenant.": _CASES
    + "test_a_reference_goes_to_one_of_two_racers",
    "Each dimension of intake is what its commands have added.": "tests/functions/test_intake.py"
    "::test_intake_is_live_and_exact",
    "Only its officer edits a case, at the version they saw, until it is closed.": _STATES,
    "A case and the sentinel of its reference change together.": _CASES
    + "test_a_rename_frees_the_old_reference",
    "Only its owner gives a value of CASE_REF back.": _UNIQUE
    + "test_a_rename_never_gives_back_what_is_anothers",
    "An open case is assigned once, at the version the supervisor saw.": _CASES
    + "test_a_case_is_assigned_once",
    "Only an active officer is given a case.": _CASES
    + "test_only_an_active_officer_is_given_a_case",
    "An officer never has more cases than their limit.": "tests/concurrency/test_races.py"
    "::test_of_twenty_assignments_three_fit_an_officers_limit",
    "A case has one officer, and changes hands at the version that was seen.": _IN_ORDER
    + "test_two_transfers_of_one_case_move_the_load_once",
    "An officer's load is the number of cases they have.": _CASES
    + "test_closing_frees_the_load_of_the_officer_that_the_case_has_by_then",
    "A hold stands or falls at the version the supervisor saw.": _IN_ORDER
    + "test_a_case_is_held_or_redacted_but_not_both",
    "Only its officer submits a case, while it is open, at the version they saw.": _CASES
    + "test_of_two_changes_at_one_version_the_first_to_commit_wins",
    "Only its reviewer approves a case, while it is under review.": _CASES
    + "test_a_change_by_whom_it_does_not_concern_is_refused_before_all_else",
    "Only its reviewer rejects a case, while it is under review.": _CASES
    + "test_a_change_by_whom_it_does_not_concern_is_refused_before_all_else",
    "Only its officer reopens a case, after it was rejected.": _CASES
    + "test_a_reopened_case_forgets_its_review",
    "A case is closed once, after a decision, and by whom it concerns.": _STATES,
    "A case with an open task is not closed.": _IN_ORDER
    + "test_a_case_is_closed_or_gets_more_work_but_not_both",
    "A case with an active enforcement is not closed.": _IN_ORDER
    + "test_a_case_is_closed_or_gets_more_work_but_not_both",
    "A closed case is redacted once, and not under a legal hold.": _REDACTED
    + "test_a_redacted_case_refuses_every_command",
    "A redacted case's reference stays taken, and is no longer displayed.": _REDACTED
    + "test_the_reference_is_still_taken_and_the_one_given_back_is_free",
    "Personal text leaves every item that repeats it.": _REDACTED
    + "test_no_item_holds_personal_text_any_more",
    # members and leases
    "A case counts its notes, until it is closed.": _REFUSED,
    "A note id is used once.": _DUPLICATE,
    "Whom it concerns adds investigators.": _REFUSED,
    "A user investigates a case once at a time.": _REFUSED,
    "At most 3 investigators work on one case.": _IN_ORDER
    + "test_the_last_place_goes_to_one_of_two_investigators",
    "Whom it concerns removes investigators.": _REFUSED,
    "The membership that was seen ends, and no later one.": _IN_ORDER
    + "test_an_old_removal_does_not_end_a_later_membership",
    "The guard counts the investigators that a case has.": _IN_ORDER
    + "test_one_membership_ends_once",
    "Its officer opens tasks, until the case is closed.": _REFUSED,
    "A task id is used once.": _DUPLICATE,
    "At most 100 tasks of one case are open, and each is counted.": _IN_ORDER
    + "test_a_case_is_closed_or_gets_more_work_but_not_both",
    "Its officer closes tasks.": _REFUSED,
    "A task is closed once.": _IN_ORDER + "test_a_task_is_closed_once",
    "The guard counts the open tasks of a case.": _IN_ORDER + "test_a_task_is_closed_once",
    "Its officer enforces a case that is approved.": _REFUSED,
    "An enforcement id is used once.": _DUPLICATE,
    "One enforcement of a case is active at a time.": _IN_ORDER
    + "test_one_of_two_enforcements_is_active",
    "Its officer completes an enforcement.": _REFUSED,
    "An enforcement is completed once.": _IN_ORDER + "test_an_enforcement_is_completed_once",
    "An enforcement gives back only the place that it holds itself.": _IN_ORDER
    + "test_an_enforcement_is_completed_once",
    "Only a case that exists is leased.": _REFUSED,
    "A lease has one owner at a time, and each owner a higher fencing number.": _LEASES
    + "test_of_two_who_read_a_free_lock_one_holds_it",
    "Only its owner prolongs a lease, by its own fencing number.": _LEASES
    + "test_a_foreigner_neither_renews_nor_releases",
    "Only its owner releases a lease, by its own fencing number.": _LEASES
    + "test_a_released_lease_is_free_at_once_and_its_number_never_comes_back",
    # officers
    "An officer id is used once in a tenant.": _OFFICERS + "test_an_officer_is_registered_once",
    "An officer's load is counted from nothing, once.": _OFFICERS
    + "test_an_officer_is_registered_active_without_load",
    "A value of EMAIL has one owner in a tenant.": _OFFICERS
    + "test_an_address_belongs_to_one_officer",
    "An officer and the sentinel of their address change together.": _OFFICERS
    + "test_a_new_address_frees_the_old_one",
    "Only its owner gives a value of EMAIL back.": _UNIQUE
    + "test_a_rename_never_gives_back_what_is_anothers",
    "An officer is activated while inactive, at the version the administrator saw.": _OFFICERS
    + "test_an_officer_who_is_so_already_is_not_made_so_again",
    "An officer is deactivated while active, at the version the administrator saw.": _OFFICERS
    + "test_an_officer_who_is_so_already_is_not_made_so_again",
    "An officer's limit is changed at the version the supervisor saw.": _OFFICERS
    + "test_a_change_at_another_version_is_stale",
    "The limit stands beside the load that it limits.": _OFFICERS
    + "test_a_new_limit_leaves_the_load_as_it_is",
    "An officer leaves once at a time.": "tests/functions/test_offboarding.py"
    "::test_who_leaves_is_given_no_case_and_does_not_leave_twice",
    "The cases to move are counted when the last of them was given.": "tests/functions"
    "/test_offboarding.py::test_a_case_given_while_it_is_accepted_counts",
    "A counter's number of shards changes from the one that was read.": "tests/functions"
    "/test_intake.py::test_of_two_who_raise_the_shards_as_read_the_second_plans_anew",
    "A dead entry is announced after all when its tenant's administrator says so.": "tests"
    "/functions/test_ops.py::test_a_redrive_is_a_command_done_once",
    "An effect that failed for good is tried again when its administrator says so.": "tests"
    "/functions/test_ops.py::test_failed_effects_are_listed_read_and_sent_again",
    # money and goods
    "A wallet id is used once.": _MONEY + "test_a_wallet_is_opened_empty_for_its_caller",
    "A balance moves from the version that was read, and stays within its bounds.": _IN_ORDER
    + "test_of_two_withdrawals_from_one_balance_one_is_planned_anew",
    "Each movement of a wallet has one ledger entry, and no version is skipped.": _MONEY
    + "test_each_movement_has_one_ledger_entry_with_its_cause",
    "A SKU is used once in a tenant.": _UNPAID,
    "A product's shard of stock is counted from its opening, once.": _MONEY
    + "test_a_product_is_restocked_repriced_and_spread_while_it_sells",
    "Only a registered product is restocked.": _UNPAID,
    "A shard of stock stays within a number that can be counted.": _UNPAID,
    "A product is changed at the version the administrator saw.": _UNPAID,
    "Nobody pays another price than the one they were quoted.": _UNPAID,
    "No more units leave a shard than are on it.": _IN_ORDER
    + "test_the_last_unit_goes_to_one_of_two_buyers",
    "An order id is used once.": _MONEY + "test_an_order_whose_answer_was_lost_is_debited_once",
    "An order is cancelled once, by its owner, at the version they saw.": _UNPAID,
    "What a cancelled order took goes back.": _MONEY
    + "test_an_order_moves_money_and_goods_together_and_its_cancellation_gives_both_back",
}


@dataclass(frozen=True)
class Row:
    """One invariant: its sentence, the item that owns it, its condition, and who relies on it."""

    because: str
    owner: str
    condition: str
    commands: tuple[str, ...]

    def __str__(self) -> str:
        test = TESTS.get(self.because, "")
        path, _, name = test.partition("::")
        shown = f"[{name}]({path})" if test else ""
        commands = (
            "every command" if len(self.commands) > len(SAMPLES) / 2 else ", ".join(self.commands)
        )
        return f"| {self.because} | `{self.owner}` | {self.condition} | {commands} | {shown} |"


def rows() -> list[Row]:
    """One row for each sentence of the samples' plans, in the order of the commands."""
    found: dict[str, tuple[Write, list[str]]] = {}
    for name, sample in SAMPLES.items():
        for write in sample.plan.writes:
            _, commands = found.setdefault(write.because, (write, []))
            if name not in commands:
                commands.append(name)
    return [
        Row(because, _owner(write.key), _conditions(write), tuple(commands))
        for because, (write, commands) in found.items()
    ]


def _owner(key: Key) -> str:
    """The kind of item: the names in its key, without the ids."""
    first = key.pk.partition("#")[0]
    rest = re.match(r"[A-Z_]+", key.sk)
    return f"{first} / {rest[0] if rest else '…'}"


def _conditions(write: Write) -> str:
    if not write.rules:
        return "none: additions commute"
    return "; ".join(f"{rule.refusal} unless {condition(rule.condition)}" for rule in write.rules)


def table() -> str:
    head = "| Invariant | Owner | Condition | Commands | Test |\n|---|---|---|---|---|\n"
    return head + "".join(f"{row}\n" for row in rows())


def written() -> str:
    """The table as the README has it now."""
    return README.read_text().partition(BEGIN)[2].partition(END)[0]


def main() -> None:
    before, _, rest = README.read_text().partition(BEGIN)
    README.write_text(before + BEGIN + table() + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
