"""A model that breaks the protocol in the one way that its argument names ("none": in no way)."""

from __future__ import annotations

import os
import struct
import sys
import time

from wire import HEADER, dial, receive, send

WRONG = sys.argv[1]


def main() -> None:
    if WRONG == "exits at once":
        print("no weights found")
        raise SystemExit(3)
    if WRONG == "never connects":
        time.sleep(600)
    referee = dial()
    magic = b"HTTP" if WRONG == "wrong magic" else b"GNTL"
    version = 9 if WRONG == "wrong version" else 1
    role = 7 if WRONG == "wrong role" else 1
    send(referee, 4 if WRONG == "wrong first frame" else 1, 0, 0, struct.pack("<4sHH", magic, version, role))
    if WRONG == "speaks before WELCOME":
        time.sleep(0.3)  # so that it does not come with the frame before
        send(referee, 4, 1, 1, struct.pack("<h", 0))
    receive(referee)
    calls = 0
    while True:
        kind, count, sequence, images = hold(referee)
        if kind == 21:
            stay() if WRONG == "stays after BYE" else sys.exit(0)
        calls += 1
        answer(referee, calls, count, sequence, images)


def hold(referee):
    try:
        return receive(referee)
    except SystemExit:
        if WRONG == "stays when the connection closes":
            stay()
        raise


def stay() -> None:
    time.sleep(600)


def answer(referee, calls, count, sequence, images) -> None:
    size = len(images) // count
    labels = [images[i * size] // 32 for i in range(count)]
    if WRONG == "label out of range":
        labels = [label + 30000 for label in labels]
    if WRONG == "counts its calls":
        labels = [(label + calls) % 8 for label in labels]
    if WRONG == "looks at the batch size" and count == 1:
        labels = [7 - label for label in labels]
    if WRONG == "looks at the batch":
        labels = [(label + images[0]) % 8 for label in labels] if count > 1 else labels
    if WRONG == "hangs at the second frame" and calls == 2:
        stay()
    if WRONG == "crashes at the second frame" and calls == 2:
        raise RuntimeError("out of ideas")
    if WRONG == "one image at a time":
        labels = labels[:1]
    if WRONG == "own sequence numbers":
        sequence = calls
    payload = struct.pack(f"<{len(labels)}h", *labels)
    if WRONG == "labels of four bytes":
        payload = struct.pack(f"<{count}i", *labels)
    if WRONG == "one byte too many":
        payload += b"\0"
    if WRONG == "says 4 GiB":
        referee.sendall(HEADER.pack(0xFFFFFFFF, 4, count, sequence))
    if WRONG == "stops within a frame":
        referee.sendall(HEADER.pack(len(payload), 4, count, sequence) + payload[:1])
        os._exit(0)
    if WRONG == "wrong type":
        send(referee, 2, len(labels), sequence, payload)
    send(referee, 4, len(labels), sequence, payload)
    if WRONG == "speaks unasked" and calls == 12:
        time.sleep(0.3)  # so that it does not come with the frame before
        send(referee, 4, 1, sequence, payload[:2])


main()
