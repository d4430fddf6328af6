"""Which traces are kept: by the rate in which they begin, or as OpenTelemetry's variables say."""

import pytest

from sereno.mailbox.engine.sampling import PerSecond, Share, configured

LOW, HIGH = f"{'a' * 16}{'0' * 15}1", f"{'0' * 16}{'f' * 16}"


def test_every_trace_is_kept_up_to_so_many_a_second() -> None:
    now = [0.0]
    sampling = PerSecond(3, clock=lambda: now[0])
    assert [sampling.takes(LOW, None) for _ in range(5)] == [True, True, True, False, False]
    now[0] = 1 / 3
    assert [sampling.takes(LOW, True) for _ in range(2)] == [True, False]
    now[0] = 100.0
    assert sum(sampling.takes(LOW, None) for _ in range(10)) == 3


def test_what_a_sender_left_out_stays_out_and_costs_nothing() -> None:
    sampling = PerSecond(1, clock=lambda: 0.0)
    assert not sampling.takes(LOW, False)
    assert sampling.takes(LOW, None)


@pytest.mark.parametrize(
    ("sampler", "argument", "kept"),
    [
        ("always_on", "", {(LOW, None): True, (HIGH, False): True}),
        ("always_off", "", {(LOW, None): False, (LOW, True): False}),
        ("parentbased_always_on", "", {(HIGH, None): True, (LOW, False): False}),
        ("parentbased_always_off", "", {(LOW, None): False, (HIGH, True): True}),
        ("traceidratio", "0.5", {(LOW, None): True, (HIGH, True): False}),
        ("parentbased_traceidratio", "0.5", {(LOW, None): True, (HIGH, None): False, (HIGH, True): True}),
    ],
)
def test_the_samplers_of_opentelemetry_mean_what_they_say(
    sampler: str, argument: str, kept: dict[tuple[str, bool | None], bool]
) -> None:
    environment = {"OTEL_TRACES_SAMPLER": sampler} | (
        {"OTEL_TRACES_SAMPLER_ARG": argument} if argument else {}
    )
    sampling = configured(environment, 0)
    assert {case: sampling.takes(*case) for case in kept} == kept


def test_without_a_sampler_the_rate_counts() -> None:
    sampling = configured({}, 2)
    assert isinstance(sampling, PerSecond)
    assert sampling.most == 2


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"OTEL_TRACES_SAMPLER": "sometimes"}, "OTEL_TRACES_SAMPLER: expected always_on"),
        (
            {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "all"},
            "OTEL_TRACES_SAMPLER_ARG",
        ),
        ({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "2"}, "OTEL_TRACES_SAMPLER_ARG"),
    ],
)
def test_a_slip_is_refused_by_name(environment: dict[str, str], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        configured(environment, 1)


def test_all_of_a_share_of_one_is_kept() -> None:
    assert Share(1).takes(HIGH, None)
