"""Handshake of every connection."""

from __future__ import annotations

import socket

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import Side, TrackName
from evaluation.formats.query.rules import QueryRules
from evaluation.protocol.channel import Channel, ChannelError, Layout
from gauntlet import frames

HELLO_DUE = {frames.HELLO: Layout(0, 0, frames.HELLO_PAYLOAD.size, 0)}

_ROLES = {Side.MODEL: frames.ROLE_MODEL, Side.ATTACK: frames.ROLE_ATTACK}


def welcome(connected: socket.socket, side: Side, track: TrackName, rules: QueryRules, deadline: float) -> Channel:
    """Read and check HELLO, answer WELCOME, return the open channel. Raise `ChannelError` with the socket closed."""
    channel = Channel(connected, max_payload=frames.MAX_COUNT * (rules.shape.size + 2))
    try:
        hello = channel.receive(HELLO_DUE, deadline)
        magic, version, role = frames.HELLO_PAYLOAD.unpack(hello.payload)
        if magic != frames.MAGIC:
            raise ChannelError(Reason.BAD_HELLO, f"magic {bytes(magic)!r}, expected {frames.MAGIC!r}")
        if version != frames.VERSION:
            raise ChannelError(Reason.BAD_HELLO, f"protocol version {version}, this referee uses {frames.VERSION}")
        if role != _ROLES[side]:
            raise ChannelError(Reason.BAD_HELLO, f"role {role}, but the {side} has role {_ROLES[side]}")
        attacks = side is Side.ATTACK  # a model learns nothing about its opponent
        flags = frames.FLAG_TARGETED if attacks and track is TrackName.TARGETED else 0
        budget = rules.query_budget if attacks else 0
        payload = frames.WELCOME_PAYLOAD.pack(
            frames.VERSION, role, *rules.shape, rules.classes, frames.MAX_COUNT, flags, budget
        )
        channel.send(frames.WELCOME, 0, 0, payload, deadline=deadline)
        channel.offers = hello.sequence
    except ChannelError as error:
        channel.reject(str(error))
        if error.reason in (Reason.BAD_TYPE, Reason.BAD_LENGTH, Reason.BAD_COUNT):
            raise ChannelError(Reason.BAD_HELLO, error.detail) from None
        raise
    return channel
