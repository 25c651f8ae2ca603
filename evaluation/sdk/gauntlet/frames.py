"""The frames of the protocol: their header, types and payloads. The referee uses this module, too.

Every frame is a 16-byte little-endian header (payload length u32, type u16, count u16, sequence u64) and a payload
whose length follows from type and count. `docs/protocol.md` describes the whole protocol.
"""

from __future__ import annotations

import struct

MAGIC = b"GNTL"
VERSION = 1

HEADER = struct.Struct("<IHHQ")
"""Payload length in bytes, type, count, sequence."""

MAX_COUNT = 64
"""The most images of one frame."""

SEND_BUFFER = 1 << 20
"""Bytes that both ends ask the kernel to keep for the reader; it may keep fewer."""

# player -> referee
HELLO = 1
"""The player is set up. Payload: `HELLO_PAYLOAD`; count 0. The sequence number of a model says what it offers besides
labels: 0 nothing, or a sum of `OFFERS_SCORES` and `OFFERS_GRADIENTS`."""
QUERY = 2
"""Attack: `count` images. Payload: count u16 sample numbers, then count images."""
FINISH = 3
"""Attack: the piece is done. Payload: count pairs of u16 (sample number, status)."""
LABELS = 4
"""Model: the answer to PREDICT, same count and sequence. Payload: count i16 labels."""
SCORES = 5
"""Model: the answer to ASK_SCORES, same count and sequence. Payload: count times classes f32."""
GRADIENTS = 6
"""Model: the answer to ASK_GRADIENTS, same count and sequence. Payload: an f32 for each byte of the count images."""

# referee -> player
WELCOME = 16
"""The answer to HELLO. Payload: `WELCOME_PAYLOAD`."""
PIECE = 17
"""To an attack: samples to attack. Payload: `PIECE_PAYLOAD`, then count times `PIECE_SAMPLE`, then count images."""
ANSWERS = 18
"""To an attack: the answer to QUERY, same count and sequence. Payload: count i16 labels, count u32 queries left."""
PREDICT = 19
"""To a model: count images."""
REJECTED = 20
"""To a player that broke the protocol, before the connection closes. Payload: an ASCII sentence."""
BYE = 21
"""The match has ended. No payload."""
ASK_SCORES = 22
"""To a model that offers scores: count images."""
ASK_GRADIENTS = 23
"""To a model that offers gradients. Payload: count times classes f32 weights of scores, then count images."""

HELLO_PAYLOAD = struct.Struct("<4sHH")
"""Magic, protocol version, role."""
WELCOME_PAYLOAD = struct.Struct("<8HI")
"""Version, role, height, width, channels, classes, most images per frame, flags, query budget of each sample."""
PIECE_PAYLOAD = struct.Struct("<QII")
"""Seed of the piece, milliseconds for the whole piece, zero."""
PIECE_SAMPLE = struct.Struct("<HhhH")
"""Sample number, true label or -1 if the rules hide it, target label or -1 when untargeted, zero."""
FINISH_SAMPLE = struct.Struct("<HH")
"""Sample number, status."""

ROLE_MODEL = 1
ROLE_ATTACK = 2

FLAG_TARGETED = 1

OFFERS_SCORES = 1
OFFERS_GRADIENTS = 2
"""In the sequence number of HELLO, which referees before these frames did not read."""

UNCLASSIFIED = -1
"""The label of an image without a valid label from the model. It counts as adversarial."""
EXHAUSTED = -2
"""In ANSWERS: the budget of this sample is used up; the image was not forwarded."""

STATUS_DONE = 0
STATUS_RAISED = 1
