"""An ID token of the local user pool: `make token ACTOR=alice TENANT=acme GROUPS=officer`.

The pool of the emulator mints and signs it, as Cognito would. One thing is local alone: the `sub`
of a new user is set to the actor's name, which Cognito refuses and the emulator allows. So a test
knows its caller by name, and functions read `sub` everywhere, with no branch for stage local.
"""

import argparse
import sys
from collections.abc import Collection
from typing import Any

from tools.stack import NoStack, client, read_stack

# Not a secret: it opens a pool that lives on this machine's loopback address.
PASSWORD = "Local-only-passw0rd"  # noqa: S105


def mint(actor: str, tenant: str, groups: Collection[str], stack: dict[str, Any]) -> str:
    """An ID token whose `sub` is the actor, of the tenant and in exactly these groups."""
    cognito = client("cognito-idp", stack["endpointUrl"])
    pool = stack["userPoolId"]
    # Ids contain no `#`, so two tenants may both have an alice.
    user = {"UserPoolId": pool, "Username": f"{tenant}#{actor}"}
    _ensure_user(cognito, user, actor, tenant)
    _set_groups(cognito, user, set(groups))
    result = cognito.initiate_auth(
        ClientId=stack["clientId"],
        AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": user["Username"], "PASSWORD": PASSWORD},
    )
    token: str = result["AuthenticationResult"]["IdToken"]
    return token


def _ensure_user(cognito: Any, user: dict[str, str], actor: str, tenant: str) -> None:
    try:
        cognito.admin_create_user(
            **user,
            MessageAction="SUPPRESS",
            TemporaryPassword=PASSWORD,
            UserAttributes=[{"Name": "custom:tenantId", "Value": tenant}],
        )
    except cognito.exceptions.UsernameExistsException:
        return
    subject = [{"Name": "sub", "Value": actor}]
    cognito.admin_update_user_attributes(**user, UserAttributes=subject)
    cognito.admin_set_user_password(**user, Password=PASSWORD, Permanent=True)


def _set_groups(cognito: Any, user: dict[str, str], wanted: set[str]) -> None:
    answer = cognito.admin_list_groups_for_user(**user)
    current = {group["GroupName"] for group in answer["Groups"]}
    for group in sorted(wanted - current):
        cognito.admin_add_user_to_group(**user, GroupName=group)
    for group in sorted(current - wanted):
        cognito.admin_remove_user_from_group(**user, GroupName=group)


def main() -> None:
    arguments = argparse.ArgumentParser(prog="make token", description=__doc__)
    arguments.add_argument("--actor", required=True)
    arguments.add_argument("--tenant", required=True)
    arguments.add_argument("--groups", required=True, help="comma-separated; may be empty")
    chosen = arguments.parse_args()
    if not chosen.actor or not chosen.tenant:
        arguments.error("ACTOR= and TENANT= are needed, for example: ACTOR=alice TENANT=acme")
    groups = [group for group in chosen.groups.replace(",", " ").split() if group]
    try:
        print(mint(chosen.actor, chosen.tenant, groups, read_stack()))
    except NoStack as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
