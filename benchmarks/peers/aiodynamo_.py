"""aiodynamo over aiohttp, on one event loop that lives as long as the process."""

import asyncio
import os
import uuid

import aiohttp
from aiodynamo.client import Client
from aiodynamo.credentials import Credentials
from aiodynamo.expressions import F
from aiodynamo.http.aiohttp import AIOHTTP
from aiodynamo.operations import Put as PutItem
from aiodynamo.operations import Update
from work import Put, handler_of
from yarl import URL

TABLE = os.environ["TABLE_NAME"]
loop = asyncio.new_event_loop()


async def connected():
    endpoint = URL(os.environ["AWS_ENDPOINT_URL_DYNAMODB"])
    http = AIOHTTP(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=300)))
    return Client(http, Credentials.auto(), os.environ["AWS_DEFAULT_REGION"], endpoint)


client = loop.run_until_complete(connected())


def operation(write):
    if isinstance(write, Put):
        return PutItem(TABLE, write.whole, condition=F("PK").does_not_exist())
    (first, *more) = [F(name).set(value) for name, value in write.new.items()]
    for change in more:
        first &= change
    (condition, *others) = [F(name).equals(value) for name, value in write.expected.items()]
    for test in others:
        condition &= test
    return Update(TABLE, {"PK": write.key[0], "SK": write.key[1]}, first, condition)


def write(writes):
    operations = [operation(write) for write in writes]
    token = str(uuid.uuid4())
    loop.run_until_complete(client.transact_write_items(operations, request_token=token))


handler = handler_of(write)
