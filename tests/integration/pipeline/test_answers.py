"""A person's answer to parked work comes down as a platform event: the work goes on with it, and others are woken by it."""

import asyncio
from dataclasses import replace

import pytest

from sereno.control_plane.announcing import resolution
from sereno.control_plane.minting import utc_now
from sereno.envelope.identifiers import to_people
from sereno.envelope.stored import loads_batch
from sereno.envelope.types import APPROVAL_RESOLVED
from sereno.mailbox.lease_items import ParkItem, Status
from sereno.mailbox.verbs import Mailbox
from tests.integration.pipeline.conftest import Plane
from tests.integration.pipeline.test_consumer import drained, running
from tests.integration.pipeline.test_emit import claim, watching
from tests.passages import TENANT, declared, received


@pytest.mark.req(5)
async def test_approved_work_goes_on_and_wakes_another_agent(plane: Plane) -> None:
    mailbox = Mailbox(plane.pool)
    await plane.in_force(declared("first", agent="agent:a"), watching("next", "b", APPROVAL_RESOLVED))
    async with running(plane.consumer()):
        await plane.publish(received(1))
        parked = await claim(mailbox, "a")
        asked = ParkItem(parked.lease.token, waiting_for="approval", question="May I send it?")
        assert (await mailbox.park([asked]))[0].status is Status.OK
        message = to_people("msg", parked.id)
        said = {"outcome": "approved", "reason": "fine", "by": "user:luis"}
        sent = resolution(None, utc_now(), tenant=TENANT, message=message, said=said)
        for _ in range(2):
            await plane.publish_bytes(sent.payload)
        await drained(plane)
        again, woken = await asyncio.gather(claim(mailbox, "a"), claim(mailbox, "b"))
    assert again.id == parked.id
    [answer] = again.answers
    assert (answer["answer"], answer["principal"]) == (said, "user:luis")
    assert woken.envelopes[0]["data"]["message"] == message
    assert await plane.count("mailbox.answer") == 1, "an answer counts once"


async def test_an_outsider_that_says_the_same_resumes_nothing(plane: Plane) -> None:
    mailbox = Mailbox(plane.pool)
    await plane.in_force(declared("first", agent="agent:a"))
    async with running(plane.consumer()):
        await plane.publish(received(1))
        parked = await claim(mailbox, "a")
        await mailbox.park([ParkItem(parked.lease.token, waiting_for="approval")])
        said = {"outcome": "approved", "by": "user:luis"}
        message = to_people("msg", parked.id)
        [real] = loads_batch(resolution(None, utc_now(), tenant=TENANT, message=message, said=said).payload)
        await plane.publish(replace(real, origin="webhook/zendesk"))
        await drained(plane)
    assert await plane.count("mailbox.answer") == 0
