"""One hop as in 2018: an attack sends BSON by HTTP to a model behind Flask. A program of its own, in .venv-bench.

usage: python -m bench.flask_hop HEIGHT WIDTH CHANNELS [ATTACK_CPU MODEL_CPU]
Then it answers blocks on stdin (see bench/blocks.py).
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import socket
import sys
import time
from collections.abc import Callable

import bson
import flask.cli
import numpy as np
import requests

from bench.blocks import serve_blocks

HOST = "127.0.0.1"


def serve(port: int, shape: tuple[int, int, int]) -> None:
    """Serve a constant model."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    flask.cli.show_server_banner = lambda *_: None
    app = flask.Flask("model")

    @app.post("/predict")  # type: ignore[untyped-decorator]  # Flask is not in .venv
    def predict() -> flask.Response:
        question = bson.loads(flask.request.get_data())
        images = np.frombuffer(question["image"], np.uint8).reshape(-1, *shape)
        return flask.Response(bson.dumps({"labels": [0] * len(images)}), mimetype="application/bson")

    app.run(HOST, port, threaded=True)


def wait_for(port: int) -> None:
    """Return once the server listens; raise after 20 seconds."""
    deadline = time.monotonic() + 20
    while True:
        try:
            socket.create_connection((HOST, port)).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def main() -> None:
    shape = (int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    server = multiprocessing.Process(target=serve, args=(port, shape), daemon=True)
    server.start()
    if sys.argv[4:]:
        attack_cpu, model_cpu = map(int, sys.argv[4:])
        os.sched_setaffinity(0, {attack_cpu})
        os.sched_setaffinity(server.pid or 0, {model_cpu})
    wait_for(port)
    session = requests.Session()  # keeps its connection open, which favours Flask
    session.trust_env = False

    def prepare(count: int) -> Callable[[], None]:
        images = np.zeros((count, *shape), np.uint8)

        def ask() -> None:
            question = bson.dumps({"image": images.tobytes()})
            reply = session.post(f"http://{HOST}:{port}/predict", data=question)
            assert len(bson.loads(reply.content)["labels"]) == count

        return ask

    serve_blocks(prepare)


if __name__ == "__main__":
    main()
