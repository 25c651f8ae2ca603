"""An S3 server for tests: SeaweedFS in one process, with a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from core.s3_object_store import CLIENT
from tests.ports import free_port

KEY, SECRET, BUCKET = "tests", "secret-of-tests", "objects"
START_SECONDS = 60.0


class ObjectServer:
    """A server with one empty bucket. `address` is that of the bucket for GAUNTLET_OBJECTS."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="s3-")
        self._port = free_port()
        self.address = f"s3+http://{KEY}:{SECRET}@127.0.0.1:{self._port}/{BUCKET}"
        identity = {
            "name": "site",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "Write", "List"],
        }
        keys = Path(self._folder.name) / "keys.json"
        keys.write_text(json.dumps({"identities": [identity]}))
        internal = (
            "master.port",
            "volume.port",
            "filer.port",
            "master.port.grpc",
            "volume.port.grpc",
            "filer.port.grpc",
        )
        self._internal = {name: free_port() for name in (*internal, "s3.port.grpc")}
        self._command = [
            str(Path(sys.executable).with_name("weed")), "server", f"-dir={self._folder.name}", "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1", "-s3", f"-s3.port={self._port}", f"-s3.config={keys}", "-s3.port.iceberg=0",
            "-s3.port.lance=0", f"-filer.localSocket={self._folder.name}/f", f"-s3.localSocket={self._folder.name}/s",
            "-volume.max=0", "-master.volumeSizeLimitMB=64",
            *(f"-{name}={port}" for name, port in self._internal.items()),
        ]  # fmt: skip
        self.start()

    def start(self) -> None:
        """Start it, and wait until its bucket can be used."""
        with (Path(self._folder.name) / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdout=log,
                stderr=log,
                env=os.environ | {"GOMAXPROCS": "1", "TMPDIR": self._folder.name},
                start_new_session=True,
            )
        client = boto3.client(
            "s3", endpoint_url=f"http://127.0.0.1:{self._port}", aws_access_key_id=KEY, aws_secret_access_key=SECRET,
            region_name="us-east-1", config=CLIENT,
        )  # fmt: skip
        deadline = time.monotonic() + START_SECONDS
        while True:
            with suppress(BotoCoreError, ClientError):
                if BUCKET not in [each["Name"] for each in client.list_buckets()["Buckets"]]:
                    client.create_bucket(Bucket=BUCKET)
                client.put_object(Bucket=BUCKET, Key="started", Body=b"")
                client.delete_object(Bucket=BUCKET, Key="started")
                break
            assert self._process.poll() is None, self._log()
            assert time.monotonic() < deadline, self._log()
            time.sleep(0.1)
        client.close()

    def kill(self) -> None:
        """End it without warning; what was stored stays."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End it, and remove what it keeps."""
        self.kill()
        self._folder.cleanup()
        for port in self._internal.values():  # it makes sockets there, whatever its options say
            for socket in Path("/tmp").glob(f"seaweedfs-*-grpc-{port}.sock"):
                socket.unlink()

    def _log(self) -> str:
        return (Path(self._folder.name) / "log").read_text(errors="replace")[-4000:]
