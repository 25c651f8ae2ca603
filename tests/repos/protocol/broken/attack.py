"""An attack that breaks the protocol in the one way that its argument names ("none": in no way)."""

from __future__ import annotations

import struct
import sys
import time

from wire import dial, receive, send

WRONG = sys.argv[1]


class Attack:
    def __init__(self) -> None:
        self.referee = dial()
        self.sequence = 5 if WRONG == "starts at sequence 6" else 0
        send(self.referee, 1, 0, 0, struct.pack("<4sHH", b"GNTL", 1, 2))
        _, _, _, welcome = receive(self.referee)
        fields = struct.unpack("<8HI", welcome)
        self.size = fields[2] * fields[3] * fields[4]
        self.targeted = bool(fields[7] & 1)
        self.pieces = 0

    def play(self) -> None:
        while True:
            kind, count, _, piece = receive(self.referee)
            if kind == 21:
                time.sleep(600 if WRONG == "stays after BYE" else 0)
                return
            self.pieces += 1
            if self.pieces == 2 and WRONG == "plays one piece only":
                return
            numbers = [struct.unpack_from("<H", piece, 16 + 8 * i)[0] for i in range(count)]
            if WRONG == "only plays one sample" and count > 1:
                raise RuntimeError("I take one sample")
            if WRONG == "restarts the sequence":
                self.sequence = 0
            for i, number in enumerate(numbers):
                start = 16 + 8 * count + self.size * i
                self.attack(number, piece[start : start + self.size])
            if WRONG == "never finishes":
                time.sleep(600)
            if WRONG == "finishes an unknown sample":
                numbers = [number + 100 & 0xFFFF for number in numbers]
            self.sequence += 1
            payload = b"".join(struct.pack("<HH", number, 0) for number in numbers)
            send(self.referee, 3, len(numbers), self.sequence, payload)
            if WRONG == "speaks after FINISH" and self.pieces == 3:
                time.sleep(0.3)  # so that it does not come with the frame before
                self.query(numbers[0], bytes(self.size))

    def attack(self, number: int, image: bytes) -> None:
        queries = 0
        while True:
            queries += 1
            label, left = self.query(number, bytes(min(255, value + queries) for value in image))
            if label == -1 and WRONG == "dies of a missing label":
                raise KeyError(label)
            if label == -2 and WRONG == "asks for ever":
                continue
            if label == -2 and WRONG == "dies of a spent budget":
                raise KeyError(label)
            if label == -2 or (not left if WRONG == "minds the budget" else queries == 6):
                return

    def query(self, number: int, image: bytes) -> tuple[int, int]:
        self.sequence += 2 if WRONG == "sequence in steps of 2" else 1
        if WRONG == "asks about another sample":
            number = number + 100 & 0xFFFF
        if WRONG == "image of the wrong size":
            image = image[:-3]
        payload = struct.pack("<H", number) + image
        if WRONG == "too many images":
            send(self.referee, 2, 65, self.sequence, payload * 65)
        send(self.referee, 2, 1, self.sequence, payload)
        if WRONG == "sends every query twice":
            receive(self.referee)
            send(self.referee, 2, 1, self.sequence, payload)
        kind, _, _, reply = receive(self.referee)
        if kind != 18:
            raise SystemExit(0)
        return struct.unpack("<hI", reply)


Attack().play()
