"""Routes that add and operate endpoints one at a time."""

from collections.abc import Mapping
from typing import Any

import yaml
from fastapi import APIRouter, Request

from sereno.control_plane import applying, endpoint_secrets
from sereno.control_plane.api import models
from sereno.control_plane.api.changing import Entered, move
from sereno.control_plane.api.refusing import bad_documents, refused, unknown
from sereno.control_plane.applying import Applied
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.endpoint_secrets import Kept
from sereno.control_plane.minting import utc_now
from sereno.control_plane.store import projection
from sereno.mailbox.engine.problems import Problem
from sereno.subscriptions.documents import API_VERSION
from sereno.subscriptions.faults import Faults

router = APIRouter(prefix="/v1", tags=["endpoints"])


@router.post("/endpoints", status_code=201, summary="Add an endpoint")
async def add(
    body: models.EndpointRequest,
    request: Request,
    access: Entered,
) -> models.EndpointAnswer:
    """Refused when the name is taken. A secret that is made here is in the answer and nowhere else."""
    address = Address(access.tenant, "Endpoint", body.name)
    access.require("declare")
    async with request.app.state.engine.connect() as connection:
        if await projection.one(connection, address) is not None:
            raise Problem(409, "already_exists", f"{address} exists; change it with apply")
    spec, kept = dict(body.spec), None
    if not spec.get("secrets"):
        kept = _kept(request, body.secret, str(spec.get("scheme")), address)
        spec["secrets"] = [kept.reference]
    elif body.secret is not None:
        raise Problem(422, "bad_input", "secret: not allowed beside spec.secrets")
    metadata = {"name": body.name, "tenant": access.tenant, "labels": body.labels}
    return await _apply(request, access.caller, metadata, spec, kept)


@router.post("/endpoints/{name}/rotate", summary="Replace the secret of an endpoint")
async def rotate(
    name: str,
    body: models.RotateRequest,
    request: Request,
    access: Entered,
) -> models.EndpointAnswer:
    """Old and new secret are accepted until it is finished."""
    address = Address(access.tenant, "Endpoint", name)
    access.require("declare")
    item = await _live(request, address)
    spec, kept = dict(item.spec), None
    if body.finish:
        spec["secrets"] = endpoint_secrets.finished(spec["secrets"])
    else:
        if body.reference is not None and body.secret is not None:
            raise Problem(422, "bad_input", "expected reference or secret, not both")
        kept = (
            Kept(body.reference)
            if body.reference is not None
            else _kept(request, body.secret, spec["scheme"], address)
        )
        spec["secrets"] = endpoint_secrets.rotated(spec["secrets"], kept.reference)
    metadata = {"name": name, "tenant": access.tenant, "labels": dict(item.labels), "version": item.version}
    return await _apply(request, access.caller, metadata, spec, kept)


@router.post("/endpoints/{name}/pause", summary="Pause an endpoint")
async def pause(
    name: str,
    body: models.MoveRequest,
    request: Request,
    access: Entered,
) -> models.MoveAnswer:
    """What is sent to it is recorded, and wakes nobody."""
    return await move(request, access, "Endpoint", name, verb="pause", reason=body.reason)


@router.post("/endpoints/{name}/resume", summary="Let a paused endpoint go on")
async def resume(
    name: str,
    body: models.MoveRequest,
    request: Request,
    access: Entered,
) -> models.MoveAnswer:
    """It is active from the manifest version in the answer."""
    return await move(request, access, "Endpoint", name, verb="resume", reason=body.reason)


async def _live(request: Request, address: Address) -> Item:
    async with request.app.state.engine.connect() as connection:
        item = await projection.one(connection, address)
    if item is None or not item.live:
        raise unknown(address)
    return item


def _kept(request: Request, given: Any, scheme: str, address: Address) -> Kept:
    """The given secret, or a new one, sealed."""
    key = request.app.state.sealing_key
    if key is None:
        message = "no sealing key of the execution plane is configured; give the secret by reference"
        raise Problem(409, "not_configured", message)
    if given is None and scheme not in endpoint_secrets.MAKEABLE:
        raise Problem(422, "bad_input", f"senders with scheme {scheme} make the secret themselves: give it")
    text = endpoint_secrets.make(scheme) if given is None else given.get_secret_value()
    if not text.strip():
        raise Problem(422, "bad_input", "secret: expected some text")
    reference = endpoint_secrets.seal(text, key, tenant=address.tenant, endpoint=address.name)
    return Kept(reference, text if given is None else None)


async def _apply(
    request: Request,
    by: Caller,
    metadata: Mapping[str, object],
    spec: Mapping[str, object],
    kept: Kept | None,
) -> models.EndpointAnswer:
    document = {"apiVersion": API_VERSION, "kind": "Endpoint", "metadata": metadata, "spec": spec}
    applied = await applying.apply(
        request.app.state.engine, applying.Request(yaml.safe_dump(document), by, utc_now())
    )
    if isinstance(applied, Faults):
        raise bad_documents(applied)
    if not isinstance(applied, Applied):
        raise refused(applied.items)
    item = applied.steps[0].after
    address = item.address
    return models.EndpointAnswer(
        name=address.name,
        tenant=address.tenant,
        version=item.version,
        state=item.state,
        url=request.app.state.renderer.url(applied.tokens.get(address)),
        secrets=endpoint_secrets.shown(item.spec["secrets"]),
        generated_secret=None if kept is None else kept.shown,
        manifest=applied.manifests[address.tenant],
    )
