"""JSON from a server that may be broken or hostile: a value of the right shape, or one of our errors."""

from __future__ import annotations

import pytest

from server_bridge.http.responses import (
    LABEL,
    MOST_BRACKETS,
    UnexpectedAnswer,
    label,
    object_in,
    optional,
    read,
    seconds_of,
)
from server_bridge.llama.answers import Event, SpelledToken
from server_bridge.protocol import BackendError, BackendUnavailable

HOSTILE = {
    "too many digits": b'{"a": ' + b"9" * 5000 + b"}",
    "brackets by the million": b"[" + b"[]," * MOST_BRACKETS + b"[]]",
    "deep lists": b'{"a": ' + b"[" * 100_000,
    "deep and closed": b'{"a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "cut": b'{"a": "b',
    "empty": b"",
    "a text": b'"a"',
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_what_is_no_proper_json_is_an_error_of_ours(content: bytes, status: int) -> None:
    """Whatever the bytes, the caller gets one of protocol's errors."""
    with pytest.raises(BackendError) as caught:
        object_in("http://server", status, content)
    assert issubclass(caught.type, UnexpectedAnswer) == (status == 200)


ODD = {
    b'{"a": NaN, "b": 1.5}': {"a": None, "b": 1.5},
    b'{"a": [Infinity, -Infinity, -0.5]}': {"a": [None, None, -0.5]},
    b'{"a": 1e999, "b": -1e999}': {"a": None, "b": None},
    b'{"a": "x\xff\xc3y\xe2\x82"}': {"a": "x\ufffd\ufffdy\ufffd"},
    b'{"a": "\\ud83d", "b": "\\ude00", "c": "\\ud83d\\ude00"}': {
        "a": "\ud83d", "b": "\ude00", "c": "😀"},
    b'\xef\xbb\xbf{"a": 1}': {"a": 1},
    b'{"a": "one\ntwo\tthree"}': {"a": "one\ntwo\tthree"},
}  # fmt: skip


@pytest.mark.parametrize("content", ODD)
def test_what_servers_write_beyond_the_standard_costs_no_more_than_itself(content: bytes) -> None:
    """What is no number is null, what is no UTF-8 is U+FFFD, the rest is read."""
    assert object_in("http://server", 200, content) == ODD[content]


def test_an_answer_of_another_shape_is_named_by_its_place() -> None:
    """The message says where the fault is, and holds nothing of the answer."""
    with pytest.raises(BackendUnavailable) as caught:
        read(Event, {"content": ["user's code"]}, "http://server/completion")
    assert "http://server/completion sent an unexpected answer" in str(caught.value)
    assert "$.content" in str(caught.value)
    assert "code" not in str(caught.value)


def test_what_can_be_done_without_is_none_in_another_shape() -> None:
    """An optional value is there, or it is not."""
    assert optional(SpelledToken, {"id": 1, "piece": [195]}) == SpelledToken(1, [195])
    assert optional(SpelledToken, {"id": 1, "piece": [256]}) is None
    assert optional(SpelledToken, None) is None


@pytest.mark.parametrize("name", ["a\nb", "x" * 999, "\x1b[2J", "a\u202eb"])
def test_a_name_from_a_server_is_one_short_printable_line(name: str) -> None:
    """Names of models are shown to the user."""
    assert label(name).isprintable()
    assert len(label(name)) <= LABEL


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        ("", 0), ("30", 30), ("0", 0), ("86400", 300), ("9" * 500, 300), ("-5", 0), ("soon", 0),
        ("²", 0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("Fri, 31 Dec 9999 23:59:59 GMT", 300),
        ("Fri, 31 Dec 99999 23:59:59 GMT", 0),
    ],
)  # fmt: skip
def test_how_long_a_busy_server_asks_to_wait(retry_after: str, seconds: float) -> None:
    """Seconds, or until a time; five minutes at most, and nothing where it makes no sense."""
    assert seconds_of(retry_after) == seconds
