"""Wallets: BALANCE owns the money and its version, one ledger entry stands for each movement.

Money is an integer of minor units. Each movement reads the balance and writes the next one
under the version it read, with the entry of that version in the same transaction, so that
the ledger is dense and the balance is the sum of its entries. A wallet's version is the
number of its movements: 0 when opened.
"""

from __future__ import annotations

from boto3.dynamodb.conditions import Attr

from holdfast.domain.transitions import Image
from holdfast.patterns import guards, keys
from holdfast.patterns.commands import Command, plan
from holdfast.patterns.frozen import command
from holdfast.patterns.outbox import Event
from holdfast.writes.plan import Key, Plan, Write, create, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

BALANCE_MAX = 10**15
"""Minor units; the most that a wallet holds and that one movement moves."""
BASIS_POINTS_MAX = 10_000


@command
class OpenWallet(Command):
    currency: str
    owner_id: str | None = None
    """Whom the wallet is for, where that is not the caller."""


@command
class WalletCommand(Command):
    wallet_id: str

    @property
    def key(self) -> Key:
        return keys.wallet(self.tenant, self.wallet_id)


@command
class Deposit(WalletCommand):
    amount: int
    note: str | None = None


@command
class Withdraw(WalletCommand):
    amount: int
    note: str | None = None


@command
class AccrueInterest(WalletCommand):
    rate_basis_points: int


def open_wallet(cmd: OpenWallet) -> Plan:
    """A wallet is opened empty, in one currency, for one owner."""
    wallet_id = cmd.new_id("wallet")
    key = keys.wallet(cmd.tenant, wallet_id)
    owner_id = cmd.owner_id or cmd.caller
    wallet = {
        "walletId": wallet_id,
        "ownerId": owner_id,
        "currency": cmd.currency,
        "balance": 0,
        "version": 0,
        "createdAt": cmd.at,
    }
    opened = {"walletId": wallet_id, "ownerId": owner_id, "currency": cmd.currency}
    return plan(
        cmd,
        create(key, wallet, "A wallet id is used once."),
        emits=Event("WalletOpened", key, 1, opened),
        returns=wallet,
        status=201,
        location=f"/wallets/{wallet_id}",
        remember=(key,),
    )


def deposit(cmd: Deposit, wallet: Image | None) -> Plan:
    """Money comes in, up to what a wallet may hold."""
    return _moved(cmd, wallet, cmd.amount, "deposit", its_owner(cmd), cmd.note)


def withdraw(cmd: Withdraw, wallet: Image | None) -> Plan:
    """Money goes out, and never more than is there."""
    return _moved(cmd, wallet, -cmd.amount, "withdrawal", its_owner(cmd), cmd.note)


def accrue_interest(cmd: AccrueInterest, wallet: Image | None) -> Plan:
    """Interest on the balance that the commit finds, in whole minor units, half to even."""
    balance = wallet["balance"] if wallet else 0
    return _moved(cmd, wallet, interest(balance, cmd.rate_basis_points), "interest", [], None)


def interest(balance: int, basis_points: int) -> int:
    """`balance` times `basis_points` / 10,000 in minor units, a half rounded to even.

    >>> interest(12_500, 2), interest(7_500, 2), interest(100, 50)
    (2, 2, 0)
    """
    whole, rest = divmod(balance * basis_points, 10_000)
    return whole + (rest > 5_000 or (rest == 5_000 and whole % 2))


def _moved(
    cmd: WalletCommand,
    wallet: Image | None,
    amount: int,
    cause: str,
    rules: list[Rule],
    note: str | None,
) -> Plan:
    if wallet is None:
        there = guards.absent(cmd.key, "Money moves only in a wallet that exists.")
        return plan(cmd, there, returns={"walletId": cmd.wallet_id})
    balance, version = wallet["balance"] + amount, wallet["version"] + 1
    entry = {"cause": cause, **({"note": note} if note else {})}
    told = {"walletId": cmd.wallet_id, "amount": amount, "balance": balance, "cause": cause}
    return plan(
        cmd,
        *move(cmd, wallet, amount, entry, rules),
        emits=Event("MoneyMoved", keys.ledger_entry(cmd.key, version), 1, told),
        returns={**told, "currency": wallet["currency"], "version": version},
        remember=(cmd.key,),
    )


def move(cmd: Command, wallet: Image, amount: int, entry: Image, rules: list[Rule]) -> list[Write]:
    """Move `amount` (signed) in the wallet that was read, and write its ledger entry.

    The version that was read is required under STALE_READ, so that a refusal for funds is
    a refusal by the balance as it is now.
    """
    key, version = Key(wallet["PK"], wallet["SK"]), wallet["version"] + 1
    seen = Rule(Refusal.STALE_READ, Attr("version").eq(wallet["version"]))
    bounds = (
        Rule(Refusal.LIMIT_REACHED, Attr("balance").lte(BALANCE_MAX - amount))
        if amount >= 0
        else Rule(Refusal.INSUFFICIENT_FUNDS, Attr("balance").gte(-amount))
    )
    return [
        update(
            key,
            "A balance moves from the version that was read, and stays within its bounds.",
            [*rules, seen, bounds],
            add={"balance": amount, "version": 1},
        ),
        create(
            keys.ledger_entry(key, version),
            {
                **entry,
                "version": version,
                "amount": amount,
                "balance": wallet["balance"] + amount,
                "at": cmd.at,
                "commandId": cmd.command_id,
            },
            "Each movement of a wallet has one ledger entry, and no version is skipped.",
        ),
    ]


def its_owner(cmd: Command) -> list[Rule]:
    """The wallet is the caller's own, unless the caller is an administrator."""
    return [] if "admin" in cmd.roles else [Rule(Refusal.NOT_OWNER, Attr("ownerId").eq(cmd.caller))]
