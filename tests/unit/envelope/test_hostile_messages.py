"""The short form of `make fuzz-envelope`."""

from hypothesis import given, settings

from tests.hostile_messages import Message, hold, messages


@settings(max_examples=150, deadline=None)
@given(messages())
def test_any_message_is_answered_and_what_is_accepted_reads_the_same_again(message: Message) -> None:
    hold(message)
