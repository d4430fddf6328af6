"""Spans of a process: none without a receiver, each where it belongs with one, and malformed contexts count as none."""

from collections.abc import Iterator

import pytest
from opentelemetry.trace import get_current_span

from sereno.envelope.trace_context import is_sampled, is_traceparent, trace_of
from sereno.mailbox.engine import tracing
from tests.otlp_receiver import Receiver, receiving

SENDER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
LEFT_OUT = SENDER[:-2] + "00"
MALFORMED = ["", "00-0", SENDER.upper(), f"00-{'0' * 32}-{'1' * 16}-01", SENDER + "-more", "zz" + SENDER[2:]]


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiving() as receiver:
        for name, value in receiver.environment().items():
            monkeypatch.setenv(name, value)
        tracing.start("tested")
        try:
            yield receiver
        finally:
            tracing.stop()


def test_without_a_receiver_nothing_is_begun_and_a_senders_trace_goes_on() -> None:
    assert not tracing.active()
    assert tracing.begin() is None
    assert tracing.begin(SENDER) == SENDER
    assert [tracing.begin(text) for text in MALFORMED] == [None] * len(MALFORMED)
    assert not tracing.kept(SENDER)
    with tracing.span("nothing", SENDER) as span:
        assert span.at == SENDER
        assert tracing.caller() is None


def test_a_trace_begins_or_goes_on_below_its_sender(receiver: Receiver) -> None:
    assert receiver.url
    assert trace_of(tracing.begin(SENDER) or "") == trace_of(SENDER)
    assert not is_sampled(tracing.begin(LEFT_OUT) or "")
    for text in [None, *MALFORMED]:
        begun = tracing.begin(text)
        assert begun is not None
        assert is_traceparent(begun)
        assert is_sampled(begun)


def test_a_span_is_sent_with_what_was_found_out_within_it(receiver: Receiver) -> None:
    def work() -> None:
        with tracing.span("outer", SENDER, attributes={"sereno.tenant": "acme"}, links=(LEFT_OUT,)) as outer:
            with tracing.span("inner", tracing.caller()):
                pass
            outer.attributes["sereno.status"] = "ok"
            raise LookupError("mail@people.example")

    with pytest.raises(LookupError):
        work()
    with tracing.span("left out", LEFT_OUT):
        pass
    tracing.stop()
    spans = {span.name: span for span in receiver.spans}
    assert spans.keys() == {"outer", "inner"}
    assert spans["outer"].attributes == {
        "sereno.tenant": "acme",
        "sereno.status": "ok",
        "error.type": "LookupError",
    }
    assert spans["outer"].failed
    assert (spans["outer"].trace, spans["outer"].parent) == (SENDER[3:35], SENDER[36:52])
    assert spans["outer"].links == ((LEFT_OUT[3:35], LEFT_OUT[36:52]),)
    assert spans["inner"].parent == spans["outer"].id
    assert b"people.example" not in b"".join(receiver.bodies)


def test_code_of_others_is_traced_below_the_run(receiver: Receiver) -> None:
    context = tracing.context_of({"traceparent": SENDER, "tracestate": "a=b", "more": 1})
    with tracing.tracer().start_as_current_span("run", context=context):
        carried = tracing.headers()
    assert (trace_of(carried["traceparent"]), carried["tracestate"]) == (trace_of(SENDER), "a=b")
    assert tracing.headers() == {}
    tracing.stop()
    assert [span.parent for span in receiver.spans] == [SENDER[36:52]]


@pytest.mark.parametrize(
    "trace", [None, "text", {}, {"traceparent": 1}, *({"traceparent": one} for one in MALFORMED[:3])]
)
def test_a_malformed_context_is_none(trace: object) -> None:
    assert not get_current_span(tracing.context_of(trace)).get_span_context().is_valid


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False),
    ],
)
def test_the_environment_says_whether_spans_are_sent(environment: dict[str, str], wanted: bool) -> None:
    assert tracing.wanted(environment) is wanted


def test_another_protocol_is_refused_by_name() -> None:
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    with pytest.raises(ValueError, match=r"OTEL_EXPORTER_OTLP_PROTOCOL: expected http/protobuf"):
        tracing.wanted(environment)


def test_a_receiver_that_is_away_holds_up_neither_work_nor_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    tracing.start("tested")
    try:
        for _ in range(3000):
            tracing.record("span", tracing.child(SENDER), SENDER, 1)
    finally:
        tracing.stop()
    assert not tracing.active()
