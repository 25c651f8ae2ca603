"""The part of Kubernetes' API that launches workers, for tests: jobs, pods and nodes, by its documents and schemas.

It answers over TLS, asks for the token of the launcher, and allows what `deploy/kubernetes` grants. Each node has a
place for one pod.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

ROOT = Path(__file__).parent.parent
TOKEN = "a token of the launcher"  # noqa: S105 - of the tests
VERBS = {"GET": "list", "POST": "create", "DELETE": "delete"}


@cache
def schemas() -> dict[str, Any]:
    """Return the published schemas, which allow no field that they do not name."""
    read: dict[str, Any] = json.loads((ROOT / "tests" / "kubernetes-schemas.json").read_text())
    return read


def problems(manifest: dict[str, Any]) -> list[str]:
    """Return what the published schema of its kind says against a manifest."""
    schema = {"$ref": f"#/$defs/{schemas()['kinds'][manifest['kind']]}", "$defs": schemas()["$defs"]}
    found = Draft202012Validator(schema).iter_errors(manifest)
    return [f"{each.json_path}: {each.message}" for each in found]


def applied_files() -> list[dict[str, Any]]:
    """Return what an operator applies once."""
    files = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
    return [each for file in files for each in YAML(typ="safe").load_all(file)]


def granted() -> set[tuple[str, str]]:
    """Return the verbs and kinds of things that the launcher's account may use."""
    rules = [rule for each in applied_files() if each["kind"] in ("Role", "ClusterRole") for rule in each["rules"]]
    return {(verb, kind) for rule in rules for kind in rule["resources"] for verb in rule["verbs"]}


class RefusalError(Exception):
    """An answer other than the usual one."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        self.code = code
        self.status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}
        self.status["message"] = message


@dataclass
class KubernetesApi:
    """A cluster of two nodes. `refusal` is the answer to all requests while it is set."""

    folder: Path
    nodes: list[dict[str, Any]] = field(default_factory=lambda: [node("n1"), node("n2")])
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By the names of their jobs."""
    asked: set[tuple[str, str]] = field(default_factory=set)
    refusal: RefusalError | bytes | float | None = None
    """A refusal, the bytes of another answer, or the seconds for which it is silent."""
    makes_pods: bool = True
    """False as with a quota of pods: then jobs have none."""
    _numbers: Any = field(default_factory=count)

    def __post_init__(self) -> None:
        certificate, key = self.folder / "ca.crt", self.folder / "key"
        subprocess.run(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", "2", "-subj", "/CN=api", "-addext", "subjectAltName=IP:127.0.0.1",
                "-keyout", key, "-out", certificate,
            ],
            check=True, capture_output=True,
        )  # fmt: skip
        (self.folder / "token").write_text(f"{TOKEN}\n")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.address = f"https://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, address: str, token: str | None, body: bytes) -> tuple[int, dict[str, Any]]:
        """Return status and content of the answer to a request."""
        parts = urlsplit(address)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        kind, _, name = parts.path.partition("/namespaces/gauntlet/")[2].partition("/")
        kind = kind or parts.path.rpartition("/")[2]
        if token != f"Bearer {TOKEN}":
            raise RefusalError(401, "Unauthorized", "Unauthorized")
        self.asked.add((VERBS[method], kind))
        if (VERBS[method], kind) not in granted():
            raise RefusalError(403, "Forbidden", f"{kind} is forbidden: cannot {VERBS[method]}")
        if method == "POST":
            return 201, self._create(json.loads(body))
        if method == "DELETE":
            return 200, self._delete(name, query)
        things = {"jobs": [*self.jobs.values()], "pods": [*self.pods.values()], "nodes": self.nodes}[kind]
        wanted = dict(each.split("=") for each in query.get("labelSelector", "").split(",") if each)
        return 200, {"items": [each for each in things if each["metadata"]["labels"].items() >= wanted.items()]}

    def _create(self, job: dict[str, Any]) -> dict[str, Any]:
        if found := problems(job):
            raise RefusalError(422, "Invalid", "; ".join(found))
        name = f"{job['metadata'].pop('generateName')}{next(self._numbers):05}"
        job["metadata"]["name"] = name
        self.jobs[name] = job | {"status": {}}
        if self.makes_pods:
            template = job["spec"]["template"]
            labels = template["metadata"]["labels"] | {"batch.kubernetes.io/job-name": name}
            metadata = {"name": f"{name}-abcde", "labels": labels}
            self.pods[name] = {"metadata": metadata, "spec": dict(template["spec"]), "status": {"phase": "Pending"}}
        self.schedule()
        return self.jobs[name]

    def _delete(self, name: str, query: dict[str, str]) -> dict[str, Any]:
        if name not in self.jobs:
            raise RefusalError(404, "NotFound", f'jobs.batch "{name}" not found')
        del self.jobs[name]
        if query.get("propagationPolicy") == "Background":  # by default they may be left
            self.pods.pop(name, None)
        self.schedule()
        return {"kind": "Status", "status": "Success"}

    def schedule(self) -> None:
        """Run pods on free nodes, and say of the others why they wait."""
        for pod in self.pods.values():
            if "nodeName" in pod["spec"]:
                continue
            place = next((name for name in self._free() if name not in excluded(pod["spec"])), None)
            if place is not None:
                pod["spec"]["nodeName"] = place
                pod["status"] = {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}
            else:
                waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
                pod["status"]["conditions"] = [waits | {"message": "0/2 nodes are available"}]

    def _free(self) -> list[str]:
        ended = {"Succeeded", "Failed"}
        taken = {pod["spec"].get("nodeName") for pod in self.pods.values() if pod["status"]["phase"] not in ended}
        return [each["metadata"]["name"] for each in self.nodes if each["metadata"]["name"] not in taken]


def node(name: str, *, taint: str = "", gpus: str = "") -> dict[str, Any]:
    """Return a node."""
    taints = [{"key": taint, "effect": "NoSchedule"}] if taint else []
    allocatable = {"cpu": "4", **({"nvidia.com/gpu": gpus} if gpus else {})}
    labels = {"kubernetes.io/hostname": name}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {"allocatable": allocatable},
    }


def excluded(spec: dict[str, Any]) -> set[str]:
    """Return the nodes on which a pod must not run: terms are alternatives, and all fields of a term hold."""
    if "affinity" not in spec:
        return set()
    rule = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = rule["nodeSelectorTerms"]
    fields = term["matchFields"]
    assert all((each["key"], each["operator"], len(each["values"])) == ("metadata.name", "NotIn", 1) for each in fields)
    return {each["values"][0] for each in fields}


def _handler(api: KubernetesApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                if isinstance(api.refusal, RefusalError):
                    raise api.refusal
                if isinstance(api.refusal, bytes):
                    self.wfile.write(api.refusal)
                    return
                if api.refusal is not None:
                    time.sleep(api.refusal)
                    return
                status, found = api.answer(self.command, self.path, self.headers["Authorization"], body)
            except RefusalError as refused:
                status, found = refused.code, refused.status
            content = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_DELETE = do_GET  # noqa: N815 - the names of the base class

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
            """Log nothing."""

    return Handler
