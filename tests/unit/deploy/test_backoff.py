from sereno.deploy.backoff import FIRST_SECONDS, HEALTHY_SECONDS, LONGEST_SECONDS, Restarts


def test_the_pause_doubles_up_to_a_limit() -> None:
    restarts, pauses = Restarts(started_at=0.0), []
    for _ in range(10):
        restarts = restarts.after_crash(now=1.0)
        pauses.append(restarts.pause())
    assert pauses[:3] == [FIRST_SECONDS, FIRST_SECONDS * 2, FIRST_SECONDS * 4]
    assert pauses[-1] == LONGEST_SECONDS


def test_a_process_that_ran_well_starts_over() -> None:
    crashed = Restarts(started_at=0.0, crashes=6).started(now=100.0)
    assert crashed.after_crash(now=100.0 + HEALTHY_SECONDS).pause() == FIRST_SECONDS
    assert crashed.after_crash(now=101.0).pause() > FIRST_SECONDS
