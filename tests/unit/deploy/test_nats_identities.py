from sereno.deploy.nats_identities import PERMISSIONS, new_seed, users
from sereno.mailbox.engine.bus import INGRESS, MANIFESTS, inbox_prefix


def test_only_the_control_plane_writes_manifests() -> None:
    writers = {name for name, allowed in PERMISSIONS.items() if f"$KV.{MANIFESTS}.>" in allowed.publish}
    assert writers == {"control"}


def test_only_the_pipeline_consumes_the_ingress() -> None:
    readers = {
        name
        for name, allowed in PERMISSIONS.items()
        if any(f".{INGRESS}." in subject for subject in allowed.publish)
    }
    assert readers == {"pipeline"}


def test_each_user_hears_its_own_inbox_only() -> None:
    seeds = {name: new_seed() for name in PERMISSIONS}
    inboxes = {name: f"{inbox_prefix(seed)}.>" for name, seed in seeds.items()}
    for user, name in zip(users(seeds), sorted(seeds), strict=True):
        subscribe = user["permissions"]["subscribe"]["allow"]  # type: ignore[index]
        assert [subject for subject in subscribe if subject.startswith("_INBOX")] == [inboxes[name]]
