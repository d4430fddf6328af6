"""`sereno work --exec`: what a command sees, what its end means, and what a lost lease does to it."""

import json
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from sereno.mailbox import standing
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.reaper import Reaper
from tests.integration.mailbox.conftest import CommandLine
from tests.mailbox_messages import message
from tests.mailbox_reading import events, outcomes, still_open
from tests.waiting import until


async def put(pool: AnyPool, count: int = 1, **fields: object) -> None:
    async with pool.acquire() as conn:
        await deposit(conn, [message(**fields) for _ in range(count)])


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


async def event(pool: AnyPool, kind: str) -> dict[str, Any]:
    data: dict[str, Any] = (await events(pool, kind))[-1]["data"]
    return data


async def test_exit_0_acknowledges_with_json_from_stdout(pool: AnyPool, sereno: CommandLine) -> None:
    await put(pool, 3)
    code = "import json,sys; m=json.load(sys.stdin); print(json.dumps({'got': m['instruction'], 'usage': {'n': 1}}))"
    status, _, err = await sereno.run(
        "work", "triage", "--exec", python(code), "--once", "--concurrency", "2"
    )
    assert (status, err) == (0, "")
    assert await outcomes(pool) == [("acked", None, 1)] * 3
    data = await event(pool, "acked")
    assert data == {"result": {"got": "Draft a reply.", "usage": {"n": 1}}, "usage": {"n": 1}}


async def test_who_reaches_all_tenants_names_one(pool: AnyPool, sereno: CommandLine) -> None:
    await put(pool)
    arguments = ["work", "triage", "--exec", "echo done", "--once"]
    await sereno.run(*arguments, token="admin-token")
    assert await pool.fetchval("select state from mailbox.work") == "ready"
    await sereno.run(*arguments, "--tenant", "acme", token="admin-token")
    assert await outcomes(pool) == [("acked", None, 1)]


async def test_plain_stdout_is_the_result_as_text(pool: AnyPool, sereno: CommandLine) -> None:
    await put(pool)
    await sereno.run("work", "agent:triage", "--exec", "echo done well", "--max", "1")
    assert (await event(pool, "acked"))["result"] == "done well\n"


@pytest.mark.parametrize(
    ("code", "state", "reason"),
    [
        (75, "ready", "temporary failure: exit 75"),
        (65, "dead", "rejected"),
        (3, "ready", "failed: exit 3"),
    ],
)
async def test_exit_codes_say_what_becomes_of_the_message(
    pool: AnyPool, sereno: CommandLine, code: int, state: str, reason: str
) -> None:
    await put(pool)
    status, _, _ = await sereno.run("work", "triage", "--exec", f"sh -c 'exit {code}'", "--max", "1")
    assert status == 0
    if state == "dead":
        assert await outcomes(pool) == [(state, reason, 1)]
    else:
        assert (await event(pool, "released"))["reason"] == reason
        assert await pool.fetchval(
            "select state = 'ready' and ready_at > clock_timestamp() - interval '1 minute' from mailbox.work"
        )


async def test_more_than_64_kib_is_no_result(pool: AnyPool, sereno: CommandLine) -> None:
    await put(pool)
    await sereno.run("work", "triage", "--exec", python("print('x' * 70000)"), "--max", "1")
    assert (await event(pool, "released"))["reason"] == "failed: the result is larger than 65536 bytes"


async def test_the_environment_is_cleaned_and_holds_the_lease(
    pool: AnyPool, sereno: CommandLine, url: str
) -> None:
    await put(pool)
    code = "import json,os,sys; print(json.dumps({'env': dict(os.environ), 'message': json.load(sys.stdin)}))"
    await sereno.run("work", "triage", "--exec", python(code), "--max", "1")
    result = (await event(pool, "acked"))["result"]
    seen = result["env"]
    assert set(seen) <= {"PATH", "HOME", "LANG", "TMPDIR", "SERENO_TOKEN", "SERENO_URL", "LC_CTYPE"}
    assert seen["SERENO_URL"] == url
    token = result["message"]["lease"]["token"]
    assert seen["SERENO_TOKEN"].startswith(f"srnl_{token}_")
    assert "bearer" not in result["message"]["lease"]


async def test_a_child_left_behind_does_not_hold_up_the_result(
    pool: AnyPool, sereno: CommandLine, tmp_path: Path
) -> None:
    await put(pool)
    left = tmp_path / "left"
    code = (
        "import subprocess,sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(left)!r}, 'w').write(str(child.pid))\n"
        "print('done')\n"
    )
    await sereno.run("work", "triage", "--exec", python(code), "--max", "1")
    assert (await event(pool, "acked"))["result"] == "done\n"
    await until(lambda: not alive(int(left.read_text())))


async def test_a_prompt_has_the_instruction_first_and_the_evidence_fenced(
    pool: AnyPool, sereno: CommandLine
) -> None:
    await put(pool)
    await sereno.run("work", "triage", "--exec", "cat", "--render", "prompt", "--max", "1")
    text = (await event(pool, "acked"))["result"]
    assert text.startswith("Draft a reply.\n")
    assert "trust: untrusted" in text
    assert (
        text.index("begin evidence") < text.index("com.zendesk.ticket.created") < text.index("end evidence")
    )


async def test_a_lost_lease_ends_the_whole_process_group(
    pool: AnyPool, sereno: CommandLine, tmp_path: Path
) -> None:
    await put(pool)
    pids = tmp_path / "pids"
    code = (
        "import os,signal,subprocess,sys,time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pids)!r} + '.new', 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"os.rename({str(pids)!r} + '.new', {str(pids)!r})\n"
        "time.sleep(600)\n"
    )
    worker = await sereno.start("work", "triage", "--exec", python(code), "--max", "1", "--lease", "1s")
    await until(pids.exists)
    async with pool.acquire() as conn:
        await standing.withdraw(conn, "acme", "refund-watch")
    assert await worker.wait() == 0
    left = [int(pid) for pid in pids.read_text().split()]
    await until(lambda: not any(map(alive, left)))
    assert [reason for _, reason, _ in await outcomes(pool)] == ["withdrawn"]


async def test_sigterm_lets_the_command_finish(pool: AnyPool, sereno: CommandLine, tmp_path: Path) -> None:
    await put(pool, 2)
    started, finish = tmp_path / "started", tmp_path / "finish"
    code = (
        "import os,pathlib,time\n"
        f"pathlib.Path({str(started)!r}).touch()\n"
        f"while not os.path.exists({str(finish)!r}): time.sleep(0.01)\n"
        "print('finished')\n"
    )
    worker = await sereno.start("work", "triage", "--exec", python(code))
    await until(started.exists)
    worker.send_signal(signal.SIGTERM)
    finish.touch()
    assert await worker.wait() == 0
    assert (await event(pool, "acked"))["result"] == "finished\n"
    assert await still_open(pool) == [("ready", 0)]


@pytest.mark.req(25, 151)
async def test_work_of_a_killed_process_is_claimed_again(
    pool: AnyPool, sereno: CommandLine, tmp_path: Path
) -> None:
    await put(pool)
    pids = tmp_path / "pids"
    code = f"import os,time; open({str(pids)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    doomed = await sereno.start("work", "triage", "--exec", python(code), "--lease", "2s")
    await until(lambda: pids.exists() and pids.read_text() != "")
    doomed.send_signal(signal.SIGKILL)
    await until(lambda: not alive(doomed.pid))
    # The command outlives its worker; only the fence stands between it and the next holder.
    os.kill(int(pids.read_text()), signal.SIGKILL)
    await doomed.wait()

    async def reclaimed() -> bool:
        await Reaper(pool).sweep()
        return bool(await pool.fetchval("select ended = 'expired' from mailbox.work"))

    await until(reclaimed)
    status, _, _ = await sereno.run("work", "triage", "--exec", "echo second", "--max", "1")
    assert status == 0
    assert (await event(pool, "acked"))["result"] == "second\n"
    assert await outcomes(pool) == [("acked", None, 2)]


@pytest.mark.parametrize(
    ("arguments", "token", "code", "sentence"),
    [
        (
            ["work", "triage", "--exec", "no-such-command-here"],
            "worker-token",
            2,
            "--exec: there is no command",
        ),
        (["work", "triage", "--exec", "'"], "worker-token", 2, "--exec: "),
        (
            ["work", "triage", "--exec", "cat", "--render", "xml"],
            "worker-token",
            2,
            "--render: expected json or",
        ),
        (["work", "nobody", "--exec", "cat"], "worker-token", 2, "agent: nobody is not declared"),
        (["work", "triage", "--exec", "cat"], "nonsense", 3, "expected a valid token"),
        (["mailbox", "show", "msg_0"], "worker-token", 2, "is not an identifier"),
    ],
)
async def test_what_cannot_work_ends_with_one_sentence(
    sereno: CommandLine, arguments: list[str], token: str, code: int, sentence: str
) -> None:
    status, _, err = await sereno.run(*arguments, token=token)
    assert status == code
    assert sentence in err
    assert err.count("\n") == 1


async def test_lists_for_people_and_for_programs(pool: AnyPool, sereno: CommandLine) -> None:
    await put(pool, 2)
    await sereno.run("work", "triage", "--exec", "sh -c 'exit 65'", "--max", "1")
    _, text, _ = await sereno.run("mailbox", "list", "triage", "--json")
    listed = json.loads(text)["messages"]
    assert sorted(row["state"] for row in listed) == ["dead", "ready"]
    dead = next(row["id"] for row in listed if row["state"] == "dead")
    _, shown, _ = await sereno.run("mailbox", "show", dead, "--json")
    assert [row["kind"] for row in json.loads(shown)["history"]] == ["claimed", "died"]
    for arguments in (
        ["mailbox", "list"],
        ["mailbox", "list", "triage"],
        ["mailbox", "show", dead],
        ["notices"],
    ):
        status, out, err = await sereno.run(*arguments)
        assert (status, err) == (0, "")
        assert out


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
